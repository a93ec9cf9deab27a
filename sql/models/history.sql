-- table: history
-- key: id
-- documents: topic_history, company_history, person_history
-- scope: id -> id

-- After a merge the same record may be told by both sides: the one fetched last says whose it is.
WITH told_last AS (
  SELECT *
  FROM documents
  QUALIFY row_number() OVER (PARTITION BY id ORDER BY fetched_at DESC, endpoint, parent_id) = 1
),
parsed AS (
  SELECT
    id,
    endpoint,
    parent_id,
    from_json(body, '{
      "changedAt": "VARCHAR", "changedBy": "VARCHAR", "operation": "VARCHAR", "changes": "JSON",
      "previousValues": "JSON", "user": {"id": "VARCHAR", "name": "VARCHAR", "image": "VARCHAR"}
    }') AS d,
    fetched_at,
    run_id
  FROM told_last
)
SELECT
  id,
  replace(endpoint, '_history', '') AS entity_type,
  parent_id AS entity_id,
  raw.moment(d.changedAt) AS changed_at,
  d.changedBy AS changed_by,
  d.operation AS operation,
  d.changes AS changes,
  d.previousValues AS previous_values,
  d.user.id AS user_id,
  d.user.name AS user_name,
  d.user.image AS user_image,
  fetched_at AS synced_at,
  run_id
FROM parsed
