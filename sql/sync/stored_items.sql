-- What the lists returned, as it is stored: an answer that has the same brings nothing new. Of sets (the people of a topic)
-- the whole: their ids with what is stored of each, none for a set without members. Not what another document about the same
-- entity is as new as: the next listing is stored all the same, so that it counts as the later one. Nor what has a rejection
-- that such an answer resolves.
--
--   {{family}}, {{within}}  as expressions (src/load/models.ts)
--   {{kinds}}               the kinds of items and of members of sets
--   $items                  the kinds of items
--   $sets                   the kinds of members, each with the list whose items have the sets: [{kind, list}]
WITH documents AS (
  SELECT endpoint, id, parent_id, body_hash, answer_no, {{family}} AS family, {{within}} AS within
  FROM raw.documents
  WHERE {{family}} IN (SELECT {{family}} FROM (SELECT unnest([{{kinds}}]) AS endpoint))
),
placed AS (
  SELECT
    *,
    count(*) OVER (
      PARTITION BY family, within, id ORDER BY answer_no DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) = 1 AS is_latest
  FROM documents
),
rejected AS (
  SELECT endpoint, coalesce(parent_id, '') AS parent_id, id FROM ops.rejected_records WHERE resolved_at IS NULL
),
sets AS (
  SELECT sets.kind AS endpoint, items.id AS parent_id
  FROM (SELECT unnest(from_json($sets::JSON, '[{"kind": "VARCHAR", "list": "VARCHAR"}]'), max_depth := 2)) AS sets
  JOIN documents AS items ON items.endpoint = sets.list
),
members AS (
  SELECT endpoint, parent_id, md5(string_agg(id || ':' || body_hash, ',' ORDER BY id)) AS digest, bool_and(is_latest) AS is_latest
  FROM placed
  WHERE endpoint IN (SELECT endpoint FROM sets)
  GROUP BY endpoint, parent_id
)
SELECT ('0x' || left(md5(endpoint || ' ' || id), 12))::BIGINT AS name, ('0x' || left(body_hash, 12))::BIGINT AS content
FROM placed
WHERE endpoint IN (SELECT unnest($items::VARCHAR[]))
  AND is_latest
  AND (endpoint, '', id) NOT IN (SELECT (endpoint, parent_id, id) FROM rejected WHERE id IS NOT NULL)
UNION ALL
SELECT
  ('0x' || left(md5(endpoint || ' of ' || parent_id), 12))::BIGINT AS name,
  ('0x' || left(coalesce(digest, md5('')), 12))::BIGINT AS content
FROM sets
LEFT JOIN members USING (endpoint, parent_id)
WHERE coalesce(is_latest, true) AND (endpoint, parent_id) NOT IN (SELECT (endpoint, parent_id) FROM rejected)
