-- table: company_versions
-- of: companies
-- key: company_id

-- What makes a version of a company: its flags and counters. `changed` holds rows of companies, just written.
SELECT
  id AS company_id,
  synced_at AS valid_from,
  name,
  primary_domain,
  is_org_company,
  is_vip,
  person_count,
  message_count,
  deleted_at,
  deleted_reason,
  merged_into_id,
  detail_unavailable_reason,
  run_id
FROM changed
