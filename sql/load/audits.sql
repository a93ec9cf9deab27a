-- What the checks in this merge found (ops.audits): which documents of their answers it adds, changes or removes. Reads what
-- the merge is about to do (`incoming`, `outdated`, `stored`, `writes`, `write_bodies`, `deletes`), before it is done.
--
--   {{run_id}}  the run
INSERT INTO ops.audits BY NAME
WITH checked AS (
  SELECT DISTINCT ON (resource, entity_id)
    now.endpoint AS resource,
    now.entity_id AS entity_id,
    now.stratum,
    now.fetched_at AS "at",
    epoch(now.fetched_at - before.fetched_at) / 86400 AS age_days
  FROM appended.coverage AS now
  JOIN ops.coverage AS before ON before.endpoint = now.endpoint AND before.entity_id = now.entity_id
  WHERE
    now.stratum IS NOT NULL AND now.good AND now.error IS NULL
    AND (now.endpoint, now.entity_id, now.answer_no) NOT IN (SELECT (endpoint, id, answer_no) FROM outdated)
),
-- The documents of an answer: its own, and the messages of its conversations.
places AS (
  SELECT resource, entity_id, resource AS endpoint, entity_id AS place FROM checked
  UNION ALL
  SELECT resource, entity_id, 'messages', id
  FROM checked
  JOIN raw.documents ON endpoint = resource AND parent_id = entity_id
),
replaced AS (
  SELECT places.resource, places.entity_id, places.endpoint, seq, rid, new.body, old.body AS old_body
  FROM places
  JOIN write_bodies AS new ON new.endpoint = places.endpoint AND coalesce(new.parent_id, new.id) = place
  JOIN raw.documents AS old ON old.rowid = rid
  WHERE new.body_hash <> old_hash
),
-- Each field by itself: a name from outside is no part of a path.
fields AS (
  SELECT replaced.* EXCLUDE (body, old_body), key AS field, value, true AS is_new FROM replaced, json_each(body)
  UNION ALL
  SELECT replaced.* EXCLUDE (body, old_body), key, value, false FROM replaced, json_each(old_body)
),
compared AS (
  SELECT
    * EXCLUDE (value, is_new),
    any_value(value) FILTER (is_new) AS value,
    any_value(value) FILTER (NOT is_new) AS old_value
  FROM fields
  GROUP BY ALL
),
-- An address without its query, which may be a signature; weeks pass by themselves.
changed AS (
  SELECT *, list_transform(
    [value, old_value],
    lambda one: regexp_replace(coalesce(one, 'null')::VARCHAR, '"(https?://[^"?\s]*)\?[^"\s]*"', '"\1"', 'g')
  ) AS texts
  FROM compared
  WHERE field <> 'weeklyActivity' AND texts[1] <> texts[2]
),
-- What another answer, such as the list, has brought already.
brought AS (
  SELECT changed.seq, field
  FROM changed
  JOIN incoming ON incoming.seq = changed.seq
  JOIN stored ON stored.family = incoming.family AND stored.within = incoming.within AND stored.id = incoming.id
  JOIN raw.documents AS other ON other.rowid = stored.rid, json_each(other.body) AS theirs
  WHERE stored.rid <> changed.rid AND theirs.key = field AND theirs.value = changed.value
),
found AS (
  SELECT resource, entity_id, CASE WHEN endpoint <> resource THEN endpoint || '.' ELSE '' END || field AS field
  FROM changed
  ANTI JOIN brought ON brought.seq = changed.seq AND brought.field = changed.field
  UNION
  SELECT resource, entity_id, field
  FROM places
  JOIN (
    SELECT endpoint, coalesce(parent_id, id) AS place, 'added' AS field FROM writes WHERE rid IS NULL
    UNION ALL SELECT endpoint, coalesce(parent_id, id), 'removed' FROM deletes WHERE rid IS NOT NULL
  ) USING (endpoint, place)
)
SELECT {{run_id}} AS run_id, checked.*, count(field) > 0 AS differs,
  coalesce(list(field ORDER BY field) FILTER (field IS NOT NULL), []) AS fields
FROM checked
LEFT JOIN found USING (resource, entity_id)
GROUP BY ALL
