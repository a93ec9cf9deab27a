-- The entities that were merged into a survivor and are deleted, or not listed any more: some services go on answering them
-- by id. The survivor's own history names them even when theirs is gone; where theirs is still answered, it names the survivor.
-- A history says what happened, not what is: one that was still listed after its merge had been read was taken out of it again, and
-- is gone for another reason, whichever history says so again, unless the merge is later than that listing (5 seconds for the
-- precision of `Date`).
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
-- When a merge was read first, as far as it is known: by either history, or by its row.
first_read AS (
  SELECT named.*, min(named.answer_no) OVER (PARTITION BY merged_id, survivor_id) AS first_no, merges.run_id AS first_run
  FROM named
  LEFT JOIN main.merges
    ON merges.entity_type = replace($merges, '_merges', '')
    AND merges.source_id = named.merged_id
    AND merges.target_id = named.survivor_id
)
SELECT
  deleted.id,
  deleted.body ->> '$.deletedAt' AS deleted_at,
  arg_max(merge.survivor_id, (coalesce(merge.merged_at, '-infinity'), merge.survivor_id)) AS merged_into_id
FROM raw.documents AS deleted
JOIN first_read AS merge ON merge.merged_id = deleted.id
LEFT JOIN raw.documents AS item ON item.endpoint = $list AND item.id = deleted.id
WHERE deleted.endpoint = $presence
  AND ((deleted.body ->> '$.deletedAt') IS NOT NULL OR (deleted.body ->> '$.unlistedSince') IS NOT NULL)
  AND (
    merge.answer_no >= deleted.answer_no
    AND coalesce(merge.first_no >= item.answer_no, true)
    AND coalesce(merge.first_run >= item.run_id, true)
    OR coalesce(merge.merged_at >= item.fetched_at - INTERVAL 5 SECOND, true)
  )
GROUP BY deleted.id, deleted.body
HAVING merged_into_id IS DISTINCT FROM (deleted.body ->> '$.mergedIntoId')
ORDER BY deleted.id
