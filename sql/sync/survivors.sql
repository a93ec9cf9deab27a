-- The items whose history may name what was merged into them, most likely first: those that share a name, an address or
-- a company with what is gone, then those that changed in this run, then those that were active last. A history that was
-- fetched since something is gone would name it already, so it is not fetched again, and neither is one that the API
-- refuses.
--
--   $list      the kind of document that the list's items are, e.g. 'people'
--   $presence  the kind of document that says what is deleted
--   $history   the history to fetch, e.g. 'person_history'
--   $alike     the JSON paths of the fields that duplicates share, e.g. ['$.displayName', '$.primaryEmail']
--   $gone      the ids of the deleted entities that no history names
--   $run_id    this run
--   $most      how many to return
WITH gone AS (
  SELECT id, run_id FROM raw.documents WHERE endpoint = $presence AND list_contains($gone, id)
),
values_of AS (
  SELECT
    id,
    unnest(json_extract_string(body, $alike)) AS value,
    generate_subscripts(json_extract_string(body, $alike), 1) AS position
  FROM raw.documents
  WHERE endpoint = $list
),
alike AS (
  SELECT id, count(DISTINCT position) AS fields
  FROM values_of
  WHERE value <> ''
    AND id NOT IN (SELECT id FROM gone)
    AND (position, value) IN (SELECT (position, value) FROM values_of WHERE id IN (SELECT id FROM gone))
  GROUP BY id
)
SELECT item.id AS entity_id, history.fingerprint
FROM raw.documents AS item
JOIN ops.coverage AS history ON history.endpoint = $history AND history.entity_id = item.id
LEFT JOIN alike ON alike.id = item.id
WHERE item.endpoint = $list
  AND item.id NOT IN (
    SELECT id FROM raw.documents WHERE endpoint = $presence AND (body ->> '$.deletedAt') IS NOT NULL
  )
  AND history.fingerprint IS NOT NULL
  AND coalesce(history.status, 0) NOT BETWEEN 400 AND 499
  AND (history.error IS NOT NULL OR history.run_id <> $run_id AND history.run_id NOT IN (SELECT run_id FROM gone))
ORDER BY
  coalesce(alike.fields, 0) DESC,
  item.run_id = $run_id DESC,
  coalesce(item.body ->> '$.lastSeenAt', item.body ->> '$.timeRangeEnd', item.body ->> '$.updatedAt', '') DESC,
  item.id
LIMIT $most
