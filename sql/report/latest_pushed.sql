-- The latest of these changes, one row for each field.
SELECT change_id, entity_type, title, entity_id, field, coalesce(remote_before, base_value) AS before,
  wanted_value AS after, status, error, requested_by, coalesce(settled_at, queued_at) AS changed_at,
  count(*) OVER () AS found
FROM change_log
WHERE coalesce(settled_at, queued_at) >= $since::TIMESTAMPTZ
ORDER BY coalesce(settled_at, queued_at) DESC, change_id, field
LIMIT 12;
