-- What is marked as deleted, and was merged into a survivor: the survivor's own history names it even when the merged
-- one's is gone, and where that is still answered it names the survivor.
--
--   {{presence}}  the kind of document that says what is gone, e.g. 'topic_presence'
--   {{merges}}    the kind of document that holds the merges of a history, e.g. 'topic_merges'
--   {{sources}}   the JSON path of the merged ones in a merge, e.g. '$.sourceTopics[*].id'
--   {{target}}    the JSON path of the survivor in a history, e.g. '$.mergedInto.targetTopic.id'
WITH merges AS (
  SELECT id, body, unnest(from_json(body -> '$.merges', '["JSON"]')) AS merge
  FROM raw.documents
  WHERE endpoint = {{merges}}
),
named AS (
  SELECT
    unnest(json_extract_string(merge, {{sources}})) AS merged_id,
    id AS survivor_id,
    coalesce(merge ->> '$.mergedAt', '') AS merged_at
  FROM merges
  UNION ALL
  SELECT id, (body ->> {{target}}), coalesce(body ->> '$.mergedInto.mergedAt', '')
  FROM raw.documents
  WHERE endpoint = {{merges}} AND (body ->> {{target}}) IS NOT NULL
)
SELECT
  gone.id,
  gone.body ->> '$.deletedAt' AS deleted_at,
  arg_max(named.survivor_id, named.merged_at || named.survivor_id) AS merged_into_id
FROM raw.documents AS gone
JOIN named ON named.merged_id = gone.id
WHERE gone.endpoint = {{presence}}
  AND (gone.body ->> '$.deletedAt') IS NOT NULL
GROUP BY gone.id, gone.body
HAVING merged_into_id IS DISTINCT FROM (gone.body ->> '$.mergedIntoId')
ORDER BY gone.id
