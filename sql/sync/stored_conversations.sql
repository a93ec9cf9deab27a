-- Conversations that are stored as their list last returned them, with their messages, and of which no other list says
-- something else: a list that returns one unchanged brings nothing new, and it no longer matters which was seen last. Only
-- conversations of the lists that are fetched now.
--
-- A topic's list tells a title and a similarity, which the others do not have, and its topic by its own name. Companies and
-- people tell the topic. What both forms tell must be the same, and so must all that documents of one form tell.
--
--   {{kinds}}    all kinds of lists of conversations
--   $parents     the entities whose lists are fetched
WITH own AS (
  SELECT endpoint, parent_id, id, body_hash, parts_hash
  FROM raw.documents
  WHERE
    endpoint IN ({{kinds}})
    AND parts_hash IS NOT NULL
    AND parent_id IN (SELECT unnest($parents::VARCHAR[]))
),
told AS (
  SELECT
    id,
    endpoint = 'topic_groups' AS is_listing,
    CASE
      WHEN endpoint = 'topic_groups' THEN parent_id
      ELSE coalesce(json_extract_string(body, '$.topic.topicId'), '')
    END AS topic_id,
    hash(json_merge_patch(json_extract(body, '$.group'), '{"title": null, "similarityAtAssignment": null}')) AS shared,
    body_hash
  FROM raw.documents
  WHERE endpoint IN ({{kinds}}) AND id IN (SELECT id FROM own)
),
undisputed AS (
  SELECT id
  FROM told
  GROUP BY id
  HAVING
    min(topic_id) = max(topic_id)
    AND min(shared) = max(shared)
    AND min(body_hash) FILTER (is_listing) IS NOT DISTINCT FROM max(body_hash) FILTER (is_listing)
    AND min(body_hash) FILTER (NOT is_listing) IS NOT DISTINCT FROM max(body_hash) FILTER (NOT is_listing)
)
SELECT
  ('0x' || left(md5(endpoint || ' ' || parent_id || ' ' || id), 12))::BIGINT AS name,
  ('0x' || left(md5(body_hash || parts_hash), 12))::BIGINT AS content
FROM own
WHERE id IN (FROM undisputed)
