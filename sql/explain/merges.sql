-- The merges in which an entity is the survivor or was merged.
--
--   $entity_type  topic, company or person
--   $id           its id
SELECT coalesce(merged_at, synced_at) AS "at", source_id AS "sourceId", source_name AS "sourceName",
  target_id AS "targetId", target_name AS "targetName", user_name AS "by", run_id AS "runId"
FROM merges
WHERE entity_type = $entity_type AND (source_id = $id OR target_id = $id)
ORDER BY 1
