-- The latest changes of priority and state since the date.
WITH changes AS (
  SELECT history_id, topic_id, title, 'priority' AS field, from_priority AS before, to_priority AS after, changed_at,
    coalesce(requested_by, user_name, changed_by) AS changed_by
  FROM priority_transitions
  WHERE NOT is_first
  UNION ALL
  SELECT history_id, topic_id, title, 'state', from_state, to_state, changed_at,
    coalesce(requested_by, user_name, changed_by)
  FROM lifecycle_transitions
  WHERE NOT is_first
),
latest AS (
  SELECT changes.*
  FROM changes, data_as_of
  WHERE changed_at BETWEEN $since::TIMESTAMPTZ AND as_of
)
SELECT *, (SELECT count(*) FROM latest) AS found
FROM latest
ORDER BY changed_at DESC, history_id, field
LIMIT 12;
