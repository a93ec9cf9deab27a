-- table: topic_versions
-- of: topics
-- key: topic_id

-- What makes a version of a topic: how the backlog stood, without what moves by itself (similarity, confidence) and what
-- the topic's history tells better (texts). `changed` holds rows of topics, just written.
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
