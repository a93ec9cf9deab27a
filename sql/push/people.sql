-- The people in $ids, with what happened to them.
SELECT
  id,
  display_name AS title,
  to_json({'merged_into_id': {'is_fetched': true, 'value': merged_into_id}})::VARCHAR AS "values",
  strftime(synced_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') AS "syncedAt",
  deleted_at IS NOT NULL AS is_deleted,
  deleted_reason,
  merged_into_id,
  NULL AS detail_unavailable_reason
FROM people
WHERE id IN (SELECT unnest($ids));
