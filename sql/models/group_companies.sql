-- table: group_companies
-- key: group_id, company_id
-- documents: company_groups
-- scope: id -> group_id

SELECT
  id AS group_id,
  parent_id AS company_id,
  fetched_at AS synced_at,
  run_id
FROM documents
