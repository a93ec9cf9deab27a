-- table: topic_versions
-- of: topics
-- key: topic_id

-- A topic gets a new version when one of these columns changes: its state in the backlog, without values that the
-- service moves by itself (similarity, confidence) and texts, which the topic's history has. `changed` has the rows of
-- topics that were just written.
SELECT
  id AS topic_id,
  synced_at AS valid_from,
  title,
  issue_type,
  priority,
  lifecycle_state,
  graph_status,
  event_count,
  message_count,
  total_group_count,
  staff_response_group_count,
  archived_at,
  deleted_at,
  deleted_reason,
  merged_into_id,
  detail_unavailable_reason,
  run_id
FROM changed
