-- table: organizations
-- key: id
-- documents: whoami
-- scope: id -> id

WITH parsed AS (
  SELECT
    id,
    from_json(body, '{"name": "VARCHAR", "slug": "VARCHAR"}') AS d,
    fetched_at,
    run_id
  FROM documents
)
SELECT
  id,
  d.name AS name,
  d.slug AS slug,
  fetched_at AS synced_at,
  run_id
FROM parsed
