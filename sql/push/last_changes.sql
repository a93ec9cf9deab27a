-- The history of the topics and companies, latest first: who set which values, and when.
SELECT
  entity_type,
  entity_id,
  changes::VARCHAR AS changes,
  changed_by,
  user_name,
  strftime(changed_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') AS changed_at
FROM history
WHERE entity_type IN ('topic', 'company')
  AND entity_id IN (SELECT unnest($ids))
  AND operation <> 'DELETE'
ORDER BY changed_at DESC, id DESC;
