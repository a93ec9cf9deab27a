-- The topics in $ids with their values and what happened to them. Only a topic's own page shows whether it is
-- archived: before that page is fetched, or where it leaves archivedAt out (it is optional), the value is not known.
SELECT
  topics.id,
  topics.title AS title,
  CASE
    WHEN topics.archived_at IS NOT NULL THEN true
    WHEN json_type(own.body, '$.archivedAt') IS NOT NULL THEN false
    WHEN topics.graph_status = 'archived' THEN true
  END AS archived,
  to_json({
    'priority': {'is_fetched': true, 'value': topics.priority},
    'lifecycle_state': {'is_fetched': true, 'value': topics.lifecycle_state},
    'archived': {'is_fetched': archived IS NOT NULL, 'value': archived},
    'archived_reason': {'is_fetched': own.id IS NOT NULL, 'value': topics.archived_reason}
  })::VARCHAR AS "values",
  strftime(
    greatest(topics.synced_at, listed.read_at) AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'
  ) AS "syncedAt",
  topics.deleted_at IS NOT NULL AS is_deleted,
  topics.deleted_reason,
  topics.merged_into_id,
  survivors.title AS survivor_title,
  topics.detail_unavailable_reason
FROM topics
LEFT JOIN topics AS survivors ON survivors.id = topics.merged_into_id
CROSS JOIN (
  SELECT arg_max(started_at, run_id) FILTER (verified) AS read_at FROM ops.scans WHERE endpoint = 'topics'
) AS listed
LEFT JOIN raw.documents AS own ON own.endpoint = 'topic' AND own.id = topics.id
WHERE topics.id IN (SELECT unnest($ids));
