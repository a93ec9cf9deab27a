-- table: company_versions
-- of: companies
-- key: company_id

-- A company gets a new version when one of these columns changes: flags and counters. `changed` has the rows of
-- companies that were just written.
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
