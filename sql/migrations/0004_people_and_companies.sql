-- People, companies, and what is known of them.

CREATE TABLE people (
  id VARCHAR,
  display_name VARCHAR,
  primary_email VARCHAR,
  description VARCHAR,
  avatar_url VARCHAR,
  is_vip BOOLEAN,
  company_id VARCHAR,
  company_name VARCHAR,
  company_domain VARCHAR,
  company_logo_url VARCHAR,
  connections_github VARCHAR,
  connections_linkedin VARCHAR,
  connections_phone VARCHAR,
  connections_title VARCHAR,
  connections_twitter VARCHAR,
  connections_website VARCHAR,
  ecosystem_tags VARCHAR[],
  expertise_tags VARCHAR[],
  sources VARCHAR[],
  identity_count BIGINT,
  conversation_count BIGINT,
  message_count BIGINT,
  avg_messages_per_week DOUBLE,
  weekly_activity DOUBLE[],
  first_seen_at TIMESTAMPTZ,
  last_seen_at TIMESTAMPTZ,
  created_at TIMESTAMPTZ,
  deleted_at TIMESTAMPTZ,
  deleted_reason VARCHAR,
  merged_into_id VARCHAR,
  detail_unavailable_reason VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE people IS 'One row per person, with figures for all of the person''s identities: the fields of the people list and of the person''s detail, combined. Deleted people keep their row (deleted_at). Key: id.';
COMMENT ON COLUMN people.id IS 'The API''s id of the person.';
COMMENT ON COLUMN people.display_name IS 'Name of the person.';
COMMENT ON COLUMN people.primary_email IS 'Main email address. NULL when unknown.';
COMMENT ON COLUMN people.description IS 'Who this is, in a sentence. NULL when unknown.';
COMMENT ON COLUMN people.avatar_url IS 'Picture. NULL when there is none.';
COMMENT ON COLUMN people.is_vip IS 'True for a person marked as VIP.';
COMMENT ON COLUMN people.company_id IS 'The person''s company (companies.id). NULL when the person has none.';
COMMENT ON COLUMN people.company_name IS 'Name of that company: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN people.company_domain IS 'Domain of that company: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN people.company_logo_url IS 'Logo of that company: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN people.connections_github IS 'GitHub account. NULL when unknown.';
COMMENT ON COLUMN people.connections_linkedin IS 'LinkedIn account. NULL when unknown.';
COMMENT ON COLUMN people.connections_phone IS 'Telephone number. NULL when unknown.';
COMMENT ON COLUMN people.connections_title IS 'Job title. NULL when unknown.';
COMMENT ON COLUMN people.connections_twitter IS 'Twitter account. NULL when unknown.';
COMMENT ON COLUMN people.connections_website IS 'Website. NULL when unknown.';
COMMENT ON COLUMN people.ecosystem_tags IS 'Tags of the ecosystems that the person is active in.';
COMMENT ON COLUMN people.expertise_tags IS 'Tags of what the person knows about.';
COMMENT ON COLUMN people.sources IS 'Source systems in which the person was seen.';
COMMENT ON COLUMN people.identity_count IS 'Number of the person''s identities, as the service counts them.';
COMMENT ON COLUMN people.conversation_count IS 'Number of the person''s conversations, as the service counts them.';
COMMENT ON COLUMN people.message_count IS 'Number of the person''s messages, as the service counts them.';
COMMENT ON COLUMN people.avg_messages_per_week IS 'Messages per week on average, as the service computes it.';
COMMENT ON COLUMN people.weekly_activity IS 'Activity by week as the service gives it. Which weeks these are is not documented: for activity by week see company_weekly_activity and messages.';
COMMENT ON COLUMN people.first_seen_at IS 'When the person was first seen (UTC).';
COMMENT ON COLUMN people.last_seen_at IS 'When the person was last seen (UTC).';
COMMENT ON COLUMN people.created_at IS 'When the person was created in the service (UTC).';
COMMENT ON COLUMN people.deleted_at IS 'When the sync found that the API no longer has the person (UTC). NULL while the person exists.';
COMMENT ON COLUMN people.deleted_reason IS 'Why the person was deleted, e.g. a merge. NULL while the person exists, or when no reason is known.';
COMMENT ON COLUMN people.merged_into_id IS 'Id of the person that this one was merged into. NULL when not merged.';
COMMENT ON COLUMN people.detail_unavailable_reason IS 'Why the person''s detail cannot be fetched although the person is listed. NULL when it can.';
COMMENT ON COLUMN people.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN people.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE person_identities (
  person_id VARCHAR,
  platform VARCHAR,
  platform_id VARCHAR,
  id VARCHAR,
  platform_username VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE person_identities IS 'The accounts of a person in source systems: from the person''s list of identities, and from lists of a topic''s people that were fetched later. Key: person_id, platform, platform_id.';
COMMENT ON COLUMN person_identities.person_id IS 'The person (people.id).';
COMMENT ON COLUMN person_identities.platform IS 'Source system, e.g. slack (authors.source_name).';
COMMENT ON COLUMN person_identities.platform_id IS 'Id of the account in the source system (authors.source_author_id).';
COMMENT ON COLUMN person_identities.id IS 'The API''s id of the identity. NULL when only a topic''s list of people names it.';
COMMENT ON COLUMN person_identities.platform_username IS 'Name of the account. NULL when unknown.';
COMMENT ON COLUMN person_identities.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN person_identities.run_id IS 'Latest run behind this row (ops.runs).';

CREATE TABLE person_source_stats (
  person_id VARCHAR,
  source VARCHAR,
  message_count BIGINT,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE person_source_stats IS 'Messages of a person by source system, as the service counts them. Key: person_id, source.';
COMMENT ON COLUMN person_source_stats.person_id IS 'The person (people.id).';
COMMENT ON COLUMN person_source_stats.source IS 'Source system, e.g. slack.';
COMMENT ON COLUMN person_source_stats.message_count IS 'Number of messages.';
COMMENT ON COLUMN person_source_stats.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN person_source_stats.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE companies (
  id VARCHAR,
  name VARCHAR,
  primary_domain VARCHAR,
  logo_url VARCHAR,
  is_org_company BOOLEAN,
  is_vip BOOLEAN,
  connections_email VARCHAR,
  connections_github VARCHAR,
  connections_linkedin VARCHAR,
  connections_phone VARCHAR,
  connections_twitter VARCHAR,
  person_count BIGINT,
  message_count BIGINT,
  weekly_activity DOUBLE[],
  last_seen_at TIMESTAMPTZ,
  created_at TIMESTAMPTZ,
  deleted_at TIMESTAMPTZ,
  deleted_reason VARCHAR,
  merged_into_id VARCHAR,
  detail_unavailable_reason VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE companies IS 'One row per company: the fields of the companies list, of the company''s detail and of its activity, combined. Deleted companies keep their row (deleted_at). Key: id.';
COMMENT ON COLUMN companies.id IS 'The API''s id of the company.';
COMMENT ON COLUMN companies.name IS 'Name of the company.';
COMMENT ON COLUMN companies.primary_domain IS 'Main domain. NULL when unknown.';
COMMENT ON COLUMN companies.logo_url IS 'Address of the logo. NULL when there is none.';
COMMENT ON COLUMN companies.is_org_company IS 'True for our own company: its people are staff.';
COMMENT ON COLUMN companies.is_vip IS 'True for a company marked as VIP.';
COMMENT ON COLUMN companies.connections_email IS 'Email address. NULL when unknown.';
COMMENT ON COLUMN companies.connections_github IS 'GitHub account. NULL when unknown.';
COMMENT ON COLUMN companies.connections_linkedin IS 'LinkedIn account. NULL when unknown.';
COMMENT ON COLUMN companies.connections_phone IS 'Telephone number. NULL when unknown.';
COMMENT ON COLUMN companies.connections_twitter IS 'Twitter account. NULL when unknown.';
COMMENT ON COLUMN companies.person_count IS 'Number of people, as the service counts them.';
COMMENT ON COLUMN companies.message_count IS 'Number of messages of its people, as the service counts them (companies list or activity, whichever is newer).';
COMMENT ON COLUMN companies.weekly_activity IS 'Activity by week as the service gives it. Which weeks these are is not documented: for activity by week see company_weekly_activity.';
COMMENT ON COLUMN companies.last_seen_at IS 'When one of its people was last seen (UTC).';
COMMENT ON COLUMN companies.created_at IS 'When the company was created in the service (UTC). NULL until its detail is fetched.';
COMMENT ON COLUMN companies.deleted_at IS 'When the sync found that the API no longer has it (UTC). NULL while it exists.';
COMMENT ON COLUMN companies.deleted_reason IS 'Why it was deleted, e.g. a merge. NULL while it exists, or when no reason is known.';
COMMENT ON COLUMN companies.merged_into_id IS 'Id of the company that it was merged into. NULL when it was not merged.';
COMMENT ON COLUMN companies.detail_unavailable_reason IS 'Why its detail cannot be fetched although it is listed. NULL when it can.';
COMMENT ON COLUMN companies.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN companies.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE company_employees (
  company_id VARCHAR,
  person_id VARCHAR,
  name VARCHAR,
  avatar_url VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE company_employees IS 'The people of a company, from the company''s list of people. Key: company_id, person_id.';
COMMENT ON COLUMN company_employees.company_id IS 'The company (companies.id).';
COMMENT ON COLUMN company_employees.person_id IS 'The person (people.id).';
COMMENT ON COLUMN company_employees.name IS 'Name of the person: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN company_employees.avatar_url IS 'Picture of the person: a copy, which may lag until the next sweep. NULL when there is none.';
COMMENT ON COLUMN company_employees.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN company_employees.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE company_identities (
  company_id VARCHAR,
  platform VARCHAR,
  platform_id VARCHAR,
  id VARCHAR,
  platform_username VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE company_identities IS 'The company''s records in external systems, linked to it by identify. Key: company_id, platform, platform_id.';
COMMENT ON COLUMN company_identities.company_id IS 'The company (companies.id).';
COMMENT ON COLUMN company_identities.platform IS 'External system, named like a source system.';
COMMENT ON COLUMN company_identities.platform_id IS 'Id of the record in that system.';
COMMENT ON COLUMN company_identities.id IS 'The API''s id of the identity.';
COMMENT ON COLUMN company_identities.platform_username IS 'Name of the account in that system. NULL when unknown.';
COMMENT ON COLUMN company_identities.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN company_identities.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE company_source_stats (
  company_id VARCHAR,
  source VARCHAR,
  message_count BIGINT,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE company_source_stats IS 'Messages of a company''s people by source system, as the service counts them. Key: company_id, source.';
COMMENT ON COLUMN company_source_stats.company_id IS 'The company (companies.id).';
COMMENT ON COLUMN company_source_stats.source IS 'Source system, e.g. slack.';
COMMENT ON COLUMN company_source_stats.message_count IS 'Number of messages; the sum, if the API names the same source twice.';
COMMENT ON COLUMN company_source_stats.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN company_source_stats.run_id IS 'Run that last changed this row (ops.runs).';
