-- The merges of items that the list has shown since they were read: the items were taken out of them again, so that these do not
-- explain why they leave the list now. A row of merges that changed in the same run as the list may be an old merge with a new title:
-- its time says so, with a day for clocks and lists that lag. Of an item that left the list earlier, what was found then; one that is not
-- returned has none.
--
--   $ids       the items that are not listed any more
--   $list      the list, e.g. 'topics'
--   $presence  the kind of document that says what is deleted, e.g. 'topic_presence'
--   $type      the entity type of the list's items in the table of merges, e.g. 'topic'
--   $run_id    this run
WITH shown AS (
  SELECT max(run_id) AS run_id, max_by(started_at, run_id) AS started_at
  FROM ops.scans
  WHERE endpoint = $list AND run_id < $run_id AND verified AND note IS NULL
),
outranked AS (
  SELECT source_id AS id, json_group_array({ 'into': target_id, 'mergedAt': merged_at }) AS merges
  FROM main.merges
  JOIN shown ON merges.run_id < shown.run_id OR merges.merged_at < shown.started_at - INTERVAL 1 DAY
  WHERE entity_type = $type AND list_contains($ids, source_id)
  GROUP BY source_id
),
earlier AS (
  SELECT id, body -> '$.outranked' AS merges
  FROM raw.documents
  WHERE endpoint = $presence AND list_contains($ids, id) AND (body ->> '$.unlistedSince') IS NOT NULL
)
SELECT id, merges
FROM earlier
WHERE merges IS NOT NULL
UNION ALL
SELECT id, merges
FROM outranked
WHERE id NOT IN (SELECT id FROM earlier)
