-- table: company_employees
-- key: company_id, person_id
-- documents: company_employees
-- scope: parent_id -> company_id

WITH parsed AS (
  SELECT
    parent_id,
    id,
    from_json(body, '{"name": "VARCHAR", "avatarUrl": "VARCHAR"}') AS d,
    fetched_at,
    run_id
  FROM documents
)
SELECT
  parent_id AS company_id,
  id AS person_id,
  d.name AS name,
  d.avatarUrl AS avatar_url,
  fetched_at AS synced_at,
  run_id
FROM parsed
