-- table: people_versions
-- of: people
-- key: person_id

-- What makes a version of a person: flags and counters. `changed` holds rows of people, just written.
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
