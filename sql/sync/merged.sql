-- What is marked as deleted, and is named by somebody's history as merged into a survivor: the survivor's own history
-- says so even when the merged one's is gone.
--
--   $presence  the kind of document that says what is gone, e.g. 'topic_presence'
--   $merges    the kind of document that holds the merges of a history, e.g. 'topic_merges'
--   $sources   the JSON path of the merged ones in a merge, e.g. '$.sourceTopics[*].id'
WITH said AS (
  SELECT
    id AS survivor_id,
    unnest(from_json(body -> '$.merges', '["JSON"]')) AS merge
  FROM raw.documents
  WHERE endpoint = $merges
),
named AS (
  SELECT
    survivor_id,
    merge ->> '$.mergedAt' AS merged_at,
    unnest(json_extract_string(merge, $sources)) AS merged_id
  FROM said
)
SELECT
  gone.id,
  gone.body ->> '$.deletedAt' AS deleted_at,
  arg_max(named.survivor_id, coalesce(named.merged_at, '') || named.survivor_id) AS merged_into_id
FROM raw.documents AS gone
JOIN named ON named.merged_id = gone.id
WHERE gone.endpoint = $presence
  AND gone.body ->> '$.deletedAt' IS NOT NULL
GROUP BY gone.id, gone.body
HAVING merged_into_id IS DISTINCT FROM (gone.body ->> '$.mergedIntoId')
ORDER BY gone.id
