-- The entities that were merged into a survivor and are deleted, or not listed any more: some services go on answering them
-- by id. The survivor's own history names them even when theirs is gone; where theirs is still answered, it names the survivor.
-- A history says what happened, not what is: a merge that the list outranks (outranked_merges.sql) explains nothing. Another one
-- explains it that was read since it is gone, or is later than its last listing (5 seconds for the precision of `Date`).
--
--   $list      the kind of document that the list's items are, e.g. 'topics'
--   $presence  the kind of document that says what is deleted, e.g. 'topic_presence'
--   $merges    the kind of document that holds the merges of a history, e.g. 'topic_merges'
--   $sources   the JSON path of the merged entities in a merge, e.g. '$.sourceTopics[*].id'
--   $target    the JSON path of the survivor in a history, e.g. '$.mergedInto.targetTopic.id'
WITH listed AS (
  SELECT id, answer_no, unnest(from_json(body -> '$.merges', '["JSON"]')) AS merge
  FROM raw.documents
  WHERE endpoint = $merges
),
named AS (
  SELECT
    unnest(json_extract_string(merge, $sources)) AS merged_id,
    id AS survivor_id,
    raw.moment(merge ->> '$.mergedAt') AS merged_at,
    answer_no
  FROM listed
  UNION ALL
  SELECT id, (body ->> $target), raw.moment(body ->> '$.mergedInto.mergedAt'), answer_no
  FROM raw.documents
  WHERE endpoint = $merges AND (body ->> $target) IS NOT NULL
),
outranked AS (
  SELECT id AS merged_id, unnest(from_json(body -> '$.outranked', '["JSON"]')) AS merge
  FROM raw.documents
  WHERE endpoint = $presence
),
explaining AS (
  SELECT named.*
  FROM named
  LEFT JOIN outranked
    ON outranked.merged_id = named.merged_id
    AND (outranked.merge ->> '$.into') = named.survivor_id
    AND coalesce(named.merged_at <= raw.moment(outranked.merge ->> '$.mergedAt'), true)
  WHERE outranked.merged_id IS NULL
)
SELECT
  deleted.id,
  deleted.body ->> '$.deletedAt' AS deleted_at,
  deleted.body -> '$.outranked' AS outranked,
  arg_max(merge.survivor_id, (coalesce(merge.merged_at, '-infinity'), merge.survivor_id)) AS merged_into_id
FROM raw.documents AS deleted
JOIN explaining AS merge ON merge.merged_id = deleted.id
LEFT JOIN raw.documents AS item ON item.endpoint = $list AND item.id = deleted.id
WHERE deleted.endpoint = $presence
  AND ((deleted.body ->> '$.deletedAt') IS NOT NULL OR (deleted.body ->> '$.unlistedSince') IS NOT NULL)
  AND (merge.answer_no >= deleted.answer_no OR coalesce(merge.merged_at >= item.fetched_at - INTERVAL 5 SECOND, true))
GROUP BY deleted.id, deleted.body
HAVING merged_into_id IS DISTINCT FROM (deleted.body ->> '$.mergedIntoId')
ORDER BY deleted.id
