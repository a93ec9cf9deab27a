-- table: people_versions
-- of: people
-- key: person_id

-- A person gets a new version when one of these columns changes: flags and counters. `changed` has the rows of people
-- that were just written.
SELECT
  id AS person_id,
  synced_at AS valid_from,
  display_name,
  is_vip,
  company_id,
  identity_count,
  conversation_count,
  message_count,
  deleted_at,
  deleted_reason,
  merged_into_id,
  detail_unavailable_reason,
  run_id
FROM changed
