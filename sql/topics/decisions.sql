-- Who set the priority and the lifecycle state of a topic last, and why.
--
--   $id  the topic
WITH transitions AS (
  SELECT 'priority' AS field, * FROM priority_transitions WHERE topic_id = $id
  UNION ALL BY NAME
  SELECT 'lifecycle_state' AS field, * FROM lifecycle_transitions WHERE topic_id = $id
)
SELECT
  field,
  changed_at AS "at",
  coalesce(requested_by, user_name, changed_by) AS "by",
  requested_reason AS reason
FROM transitions
QUALIFY row_number() OVER (PARTITION BY field ORDER BY changed_at DESC, history_id DESC) = 1
