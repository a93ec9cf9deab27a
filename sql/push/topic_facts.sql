-- What reports say about the topics.
SELECT
  topics.id,
  topics.title,
  strftime(topics.archived_at AT TIME ZONE 'UTC', '%Y-%m-%d') AS archived_on,
  coalesce(topics.graph_status = 'superseded', false) AS is_superseded,
  topics.successor_topic_id AS successor_id,
  coalesce(successors.title, topics.successor_topic_title) AS successor_title,
  topics.merged_into_id,
  survivors.title AS merged_into_title,
  topics.deleted_at IS NOT NULL AS is_deleted,
  topics.deleted_reason
FROM topics
LEFT JOIN topics AS survivors ON survivors.id = topics.merged_into_id
LEFT JOIN topics AS successors ON successors.id = topics.successor_topic_id
WHERE topics.id IN (SELECT unnest($ids));
