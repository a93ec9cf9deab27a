-- What the checks in this merge found (ops.audits): which documents of their answers it adds, changes or removes. Reads what
-- the merge is about to do (`incoming`, `stored`, `writes`, `write_bodies`, `deletes`), before it is done.
--
--   {{run_id}}  the run
INSERT INTO ops.audits BY NAME
WITH checked AS (
  SELECT DISTINCT ON (now.endpoint, now.entity_id)
    now.endpoint AS resource,
    now.entity_id,
    now.stratum,
    now.fetched_at AS "at",
    epoch(now.fetched_at - coverage.fetched_at) / 86400 AS age_days
  FROM appended.coverage AS now
  JOIN ops.coverage AS coverage ON coverage.endpoint = now.endpoint AND coverage.entity_id = now.entity_id
  WHERE now.stratum IS NOT NULL AND now.good AND now.error IS NULL
),
-- The documents of an answer: its own, and the messages of its conversations.
places AS (
  SELECT resource, entity_id, resource AS endpoint, entity_id AS place FROM checked
  UNION ALL
  SELECT resource, entity_id, 'messages', documents.id
  FROM checked
  JOIN raw.documents AS documents ON documents.endpoint = resource AND documents.parent_id = entity_id
),
changed AS (
  SELECT places.resource, places.entity_id, new.endpoint, new.rid, new.seq, new.body AS body, old.body AS old_body
  FROM places
  JOIN write_bodies AS new ON new.endpoint = places.endpoint AND coalesce(new.parent_id, new.id) = places.place
  JOIN raw.documents AS old ON old.rowid = new.rid
  WHERE new.body_hash <> new.old_hash
),
fields AS (
  SELECT *, json_extract(body, path) AS value, json_extract(old_body, path) AS old_value
  FROM (SELECT *, unnest(list_distinct(json_keys(body) || json_keys(old_body))) AS field, '$."' || field || '"' AS path FROM changed)
),
-- An address without its query, which may be a signature; weeks pass by themselves.
compared AS (
  SELECT
    *,
    regexp_replace(coalesce(value, 'null')::VARCHAR, '"(https?://[^"?\s]*)\?[^"\s]*"', '"\1"', 'g') AS now,
    regexp_replace(coalesce(old_value, 'null')::VARCHAR, '"(https?://[^"?\s]*)\?[^"\s]*"', '"\1"', 'g') AS before
  FROM fields
  WHERE field <> 'weeklyActivity'
),
found AS (
  SELECT resource, entity_id, CASE WHEN endpoint <> resource THEN endpoint || '.' ELSE '' END || field AS field
  FROM compared
  WHERE
    now <> before
    -- Another answer, such as the list, has brought the value already.
    AND (seq, field) NOT IN (
      SELECT (compared.seq, compared.field)
      FROM compared
      JOIN incoming ON incoming.seq = compared.seq
      JOIN stored ON stored.family = incoming.family AND stored.within = incoming.within AND stored.id = incoming.id
      JOIN raw.documents AS other ON other.rowid = stored.rid
      WHERE stored.rid <> compared.rid AND json_extract(other.body, compared.path) = compared.value
    )
  UNION
  SELECT resource, entity_id, 'added'
  FROM places
  JOIN writes ON writes.endpoint = places.endpoint AND coalesce(writes.parent_id, writes.id) = place
  WHERE writes.rid IS NULL
  UNION
  SELECT resource, entity_id, 'removed'
  FROM places
  JOIN deletes ON deletes.endpoint = places.endpoint AND coalesce(deletes.parent_id, deletes.id) = place
  WHERE deletes.rid IS NOT NULL
)
SELECT
  {{run_id}} AS run_id,
  checked.*,
  count(found.field) > 0 AS differs,
  coalesce(list(found.field ORDER BY found.field) FILTER (found.field IS NOT NULL), []) AS fields
FROM checked
LEFT JOIN found ON found.resource = checked.resource AND found.entity_id = checked.entity_id
GROUP BY ALL
