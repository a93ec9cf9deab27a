-- After a merge both sides may list the same record: the one fetched last tells whose it is. There are few of them, so
-- they are looked up instead of sorting every record. (siblings: none) A record of two sides is two documents, which
-- never change.
WITH again AS (
  SELECT id, max((answer_no, endpoint, parent_id)) AS latest
  FROM documents
  GROUP BY id
  HAVING count(*) > 1
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
    fetched_at
  FROM documents
  LEFT JOIN again USING (id)
  WHERE latest IS NULL OR (answer_no, endpoint, parent_id) = latest
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
  fetched_at AS synced_at
FROM parsed
