-- What stood in a row, from when to when. Unlike the other tables of schema main these are no projection of
-- raw.documents, which holds only the last that was said: they are written beside the rows that are observed, by the
-- file of their name in sql/versions, and cannot be made again.

CREATE TABLE topic_versions (
  topic_id VARCHAR,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  title VARCHAR,
  issue_type VARCHAR,
  priority VARCHAR,
  lifecycle_state VARCHAR,
  graph_status VARCHAR,
  event_count BIGINT,
  message_count BIGINT,
  total_group_count BIGINT,
  staff_response_group_count BIGINT,
  archived_at TIMESTAMPTZ,
  deleted_at TIMESTAMPTZ,
  deleted_reason VARCHAR,
  merged_into_id VARCHAR,
  detail_unavailable_reason VARCHAR,
  run_id VARCHAR
);
COMMENT ON TABLE topic_versions IS 'What each topic looked like over time: one row for each period in which the columns below did not change, as the sync saw them. Two changes between two syncs are seen as one. To find the version at a date: valid_from <= date AND (valid_to > date OR valid_to IS NULL). Key: topic_id, valid_from.';
COMMENT ON COLUMN topic_versions.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN topic_versions.valid_from IS 'When the answer arrived that first showed the topic like this (UTC).';
COMMENT ON COLUMN topic_versions.valid_to IS 'When the answer arrived that showed a difference: the valid_from of the next version (UTC). NULL for the current version.';
COMMENT ON COLUMN topic_versions.title IS 'Short title.';
COMMENT ON COLUMN topic_versions.issue_type IS 'Kind of issue as the service derives it. NULL when it had none.';
COMMENT ON COLUMN topic_versions.priority IS 'very_low, low, default, high or very_high.';
COMMENT ON COLUMN topic_versions.lifecycle_state IS 'open, in_progress, completed, dismissed or unknown. NULL when it was not assessed.';
COMMENT ON COLUMN topic_versions.graph_status IS 'active, superseded or archived. NULL until the topic''s detail was fetched, or when the service did not say.';
COMMENT ON COLUMN topic_versions.event_count IS 'Number of events, as the service counted them.';
COMMENT ON COLUMN topic_versions.message_count IS 'Number of messages, as the service counted them.';
COMMENT ON COLUMN topic_versions.total_group_count IS 'Number of conversations, as the service counted them.';
COMMENT ON COLUMN topic_versions.staff_response_group_count IS 'Number of those in which staff had answered, as the service counted them.';
COMMENT ON COLUMN topic_versions.archived_at IS 'When it was archived (UTC). NULL when it was not archived.';
COMMENT ON COLUMN topic_versions.deleted_at IS 'When the sync found that the API no longer had it (UTC). NULL when it existed.';
COMMENT ON COLUMN topic_versions.deleted_reason IS 'Why it was deleted. NULL when it existed, or when no reason was known.';
COMMENT ON COLUMN topic_versions.merged_into_id IS 'Id of the topic that it had been merged into. NULL when it was not merged.';
COMMENT ON COLUMN topic_versions.detail_unavailable_reason IS 'Why its detail could not be fetched although it was listed. NULL when it could.';
COMMENT ON COLUMN topic_versions.run_id IS 'Run that recorded this version (ops.runs).';

CREATE TABLE company_versions (
  company_id VARCHAR,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  name VARCHAR,
  primary_domain VARCHAR,
  is_org_company BOOLEAN,
  is_vip BOOLEAN,
  person_count BIGINT,
  message_count BIGINT,
  deleted_at TIMESTAMPTZ,
  deleted_reason VARCHAR,
  merged_into_id VARCHAR,
  detail_unavailable_reason VARCHAR,
  run_id VARCHAR
);
COMMENT ON TABLE company_versions IS 'What each company looked like over time, as the sync saw it (see topic_versions). Key: company_id, valid_from.';
COMMENT ON COLUMN company_versions.company_id IS 'The company (companies.id).';
COMMENT ON COLUMN company_versions.valid_from IS 'When the answer arrived that first showed the company like this (UTC).';
COMMENT ON COLUMN company_versions.valid_to IS 'When the answer arrived that showed a difference: the valid_from of the next version (UTC). NULL for the current version.';
COMMENT ON COLUMN company_versions.name IS 'Name of the company.';
COMMENT ON COLUMN company_versions.primary_domain IS 'Main domain. NULL when unknown.';
COMMENT ON COLUMN company_versions.is_org_company IS 'True when it was our own company.';
COMMENT ON COLUMN company_versions.is_vip IS 'True when it was marked as VIP.';
COMMENT ON COLUMN company_versions.person_count IS 'Number of people, as the service counted them.';
COMMENT ON COLUMN company_versions.message_count IS 'Number of messages of its people, as the service counted them (companies list or activity, whichever was newer).';
COMMENT ON COLUMN company_versions.deleted_at IS 'When the sync found that the API no longer had it (UTC). NULL when it existed.';
COMMENT ON COLUMN company_versions.deleted_reason IS 'Why it was deleted. NULL when it existed, or when no reason was known.';
COMMENT ON COLUMN company_versions.merged_into_id IS 'Id of the company that it had been merged into. NULL when it was not merged.';
COMMENT ON COLUMN company_versions.detail_unavailable_reason IS 'Why its detail could not be fetched although it was listed. NULL when it could.';
COMMENT ON COLUMN company_versions.run_id IS 'Run that recorded this version (ops.runs).';

CREATE TABLE people_versions (
  person_id VARCHAR,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  display_name VARCHAR,
  is_vip BOOLEAN,
  company_id VARCHAR,
  identity_count BIGINT,
  conversation_count BIGINT,
  message_count BIGINT,
  deleted_at TIMESTAMPTZ,
  deleted_reason VARCHAR,
  merged_into_id VARCHAR,
  detail_unavailable_reason VARCHAR,
  run_id VARCHAR
);
COMMENT ON TABLE people_versions IS 'What each person looked like over time, as the sync saw it (see topic_versions). Key: person_id, valid_from.';
COMMENT ON COLUMN people_versions.person_id IS 'The person (people.id).';
COMMENT ON COLUMN people_versions.valid_from IS 'When the answer arrived that first showed the person like this (UTC).';
COMMENT ON COLUMN people_versions.valid_to IS 'When the answer arrived that showed a difference: the valid_from of the next version (UTC). NULL for the current version.';
COMMENT ON COLUMN people_versions.display_name IS 'Name of the person.';
COMMENT ON COLUMN people_versions.is_vip IS 'True when the person was marked as VIP.';
COMMENT ON COLUMN people_versions.company_id IS 'The person''s company (companies.id). NULL when the person had none.';
COMMENT ON COLUMN people_versions.identity_count IS 'Number of identities, as the service counted them.';
COMMENT ON COLUMN people_versions.conversation_count IS 'Number of conversations, as the service counted them.';
COMMENT ON COLUMN people_versions.message_count IS 'Number of messages, as the service counted them.';
COMMENT ON COLUMN people_versions.deleted_at IS 'When the sync found that the API no longer had the person (UTC). NULL when the person existed.';
COMMENT ON COLUMN people_versions.deleted_reason IS 'Why the person was deleted. NULL when the person existed, or when no reason was known.';
COMMENT ON COLUMN people_versions.merged_into_id IS 'Id of the person that this one had been merged into. NULL when not merged.';
COMMENT ON COLUMN people_versions.detail_unavailable_reason IS 'Why the person''s detail could not be fetched although the person was listed. NULL when it could.';
COMMENT ON COLUMN people_versions.run_id IS 'Run that recorded this version (ops.runs).';
