-- The people in $ids, with what happened to them.
SELECT
  people.id,
  people.display_name AS title,
  to_json({'merged_into_id': {'is_fetched': true, 'value': people.merged_into_id}})::VARCHAR AS "values",
  strftime(people.synced_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') AS "syncedAt",
  people.deleted_at IS NOT NULL AS is_deleted,
  people.deleted_reason,
  people.merged_into_id,
  survivors.display_name AS survivor_title,
  NULL AS detail_unavailable_reason
FROM people
LEFT JOIN people AS survivors ON survivors.id = people.merged_into_id
WHERE people.id IN (SELECT unnest($ids));
