-- The latest of these changes, one row for each field.
WITH latest AS (
  SELECT change_id, entity_type, title, entity_id, field, coalesce(remote_before, base_value) AS before,
    wanted_value AS after, status, error, requested_by, coalesce(settled_at, queued_at) AS changed_at
  FROM change_log
  WHERE coalesce(settled_at, queued_at) >= $since::TIMESTAMPTZ
)
SELECT *, (SELECT count(*) FROM latest) AS found
FROM latest
ORDER BY changed_at DESC, change_id, field
LIMIT 12;
