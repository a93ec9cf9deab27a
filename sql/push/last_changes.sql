-- The history of the topics and companies, latest first: who set which values, over which ones, and when.
SELECT
  entity_type AS "entityType",
  entity_id AS "entityId",
  changes::VARCHAR AS changes,
  previous_values::VARCHAR AS previous,
  user_name AS name,
  strftime(changed_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') AS at
FROM history
WHERE entity_type IN ('topic', 'company')
  AND entity_id IN (SELECT unnest($ids))
  AND operation <> 'DELETE'
ORDER BY history.changed_at DESC, history.id DESC;
