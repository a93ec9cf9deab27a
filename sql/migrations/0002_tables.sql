-- Topics, the people in them and the conversations they are made of.
-- Every table of schema main is a projection of raw.documents by the file of its name in sql/models.

CREATE TABLE topics (
  id VARCHAR,
  title VARCHAR,
  summary VARCHAR,
  issue_type VARCHAR,
  keywords VARCHAR[],
  priority VARCHAR,
  priority_reasoning VARCHAR,
  lifecycle_state VARCHAR,
  lifecycle_state_confidence DOUBLE,
  graph_status VARCHAR,
  event_count BIGINT,
  message_count BIGINT,
  total_group_count BIGINT,
  staff_response_group_count BIGINT,
  sources VARCHAR[],
  author_ids VARCHAR[],
  similarity DOUBLE,
  linked_ticket_display_name VARCHAR,
  linked_ticket_link_type VARCHAR,
  linked_ticket_url VARCHAR,
  time_range_start TIMESTAMPTZ,
  time_range_end TIMESTAMPTZ,
  created_at TIMESTAMPTZ,
  updated_at TIMESTAMPTZ,
  archived_at TIMESTAMPTZ,
  archived_by_user_id VARCHAR,
  archived_reason VARCHAR,
  superseded_at TIMESTAMPTZ,
  successor_topic_id VARCHAR,
  successor_topic_title VARCHAR,
  deleted_at TIMESTAMPTZ,
  deleted_reason VARCHAR,
  merged_into_id VARCHAR,
  detail_unavailable_reason VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE topics IS 'One row per topic (issue): the fields of the topics list and of the topic''s detail, combined. Deleted topics keep their row (deleted_at). Key: id.';
COMMENT ON COLUMN topics.id IS 'The API''s id of the topic (a UUID).';
COMMENT ON COLUMN topics.title IS 'Short title.';
COMMENT ON COLUMN topics.summary IS 'What the topic is about, in a few sentences.';
COMMENT ON COLUMN topics.issue_type IS 'Kind of issue as the service derives it, e.g. bug_report. NULL when it has none; the full set of values is not documented.';
COMMENT ON COLUMN topics.keywords IS 'Keywords as the service derives them.';
COMMENT ON COLUMN topics.priority IS 'very_low, low, default, high or very_high.';
COMMENT ON COLUMN topics.priority_reasoning IS 'Why the service chose the priority. NULL when a person set it, when it was never scored, or until the topic''s detail is fetched.';
COMMENT ON COLUMN topics.lifecycle_state IS 'open, in_progress, completed, dismissed or unknown, as last assessed. NULL when it was never assessed.';
COMMENT ON COLUMN topics.lifecycle_state_confidence IS 'How sure the service is of the lifecycle state. NULL when it does not say.';
COMMENT ON COLUMN topics.graph_status IS 'active (live), superseded (dissolved by the service, for good) or archived (dismissed by a user). NULL until the topic''s detail is fetched, or when the service does not say.';
COMMENT ON COLUMN topics.event_count IS 'Number of events grouped under the topic, as the service counts them.';
COMMENT ON COLUMN topics.message_count IS 'Number of messages in the topic, as the service counts them (the messages that were fetched are in messages).';
COMMENT ON COLUMN topics.total_group_count IS 'Number of conversations in the topic, as the service counts them.';
COMMENT ON COLUMN topics.staff_response_group_count IS 'Number of those conversations in which staff has answered, as the service counts them.';
COMMENT ON COLUMN topics.sources IS 'Source systems in which the topic comes up, e.g. slack, discord.';
COMMENT ON COLUMN topics.author_ids IS 'Ids of the authors that the topics list names (authors.id).';
COMMENT ON COLUMN topics.similarity IS 'Similarity to the search text. Only meaningful in a semantic search, which the sync does not make.';
COMMENT ON COLUMN topics.linked_ticket_display_name IS 'Name of the linked ticket, e.g. its number. NULL when none is linked.';
COMMENT ON COLUMN topics.linked_ticket_link_type IS 'Kind of system the linked ticket is in. NULL when none is linked.';
COMMENT ON COLUMN topics.linked_ticket_url IS 'Address of the linked ticket. NULL when none is linked.';
COMMENT ON COLUMN topics.time_range_start IS 'Start of the time that the topic''s conversations cover (UTC). NULL when unknown.';
COMMENT ON COLUMN topics.time_range_end IS 'End of the time that the topic''s conversations cover (UTC). NULL when unknown.';
COMMENT ON COLUMN topics.created_at IS 'When the topic was created (UTC). NULL until the topic''s detail is fetched, or when the service does not say.';
COMMENT ON COLUMN topics.updated_at IS 'When the topic was last updated (UTC), according to the service.';
COMMENT ON COLUMN topics.archived_at IS 'When it was archived (UTC). NULL when it is not archived.';
COMMENT ON COLUMN topics.archived_by_user_id IS 'Id of the user who archived it. NULL when it is not archived, or not by a user.';
COMMENT ON COLUMN topics.archived_reason IS 'Why it was archived. NULL when it is not archived, or no reason was given.';
COMMENT ON COLUMN topics.superseded_at IS 'When it was superseded (UTC). NULL unless graph_status is superseded.';
COMMENT ON COLUMN topics.successor_topic_id IS 'Id of the topic that replaced it. NULL unless it was superseded and the successor is known.';
COMMENT ON COLUMN topics.successor_topic_title IS 'Title of the topic that replaced it: a copy of that topic''s title, which may lag until the next sweep.';
COMMENT ON COLUMN topics.deleted_at IS 'When the sync found that the API no longer has it (UTC). NULL while it exists.';
COMMENT ON COLUMN topics.deleted_reason IS 'Why it was deleted, e.g. archived_in_v1_to_v2_migration or a merge. NULL while it exists, or when no reason is known.';
COMMENT ON COLUMN topics.merged_into_id IS 'Id of the topic that it was merged into. NULL when it was not merged.';
COMMENT ON COLUMN topics.detail_unavailable_reason IS 'Why its detail cannot be fetched although it is listed, e.g. archived_in_v1_to_v2_migration. NULL when it can.';
COMMENT ON COLUMN topics.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN topics.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE topic_people (
  topic_id VARCHAR,
  person_id VARCHAR,
  display_name VARCHAR,
  title VARCHAR,
  avatar_url VARCHAR,
  is_bot BOOLEAN,
  is_staff BOOLEAN,
  is_vip BOOLEAN,
  message_count BIGINT,
  sources VARCHAR[],
  company_id VARCHAR,
  company_name VARCHAR,
  company_domain VARCHAR,
  company_logo_url VARCHAR,
  company_is_org_company BOOLEAN,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE topic_people IS 'One row per person who takes part in a topic: the fields of the topics list and of the topic''s list of people, combined. Key: topic_id, person_id.';
COMMENT ON COLUMN topic_people.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN topic_people.person_id IS 'The person (people.id).';
COMMENT ON COLUMN topic_people.display_name IS 'Name of the person: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN topic_people.title IS 'Job title of the person: a copy, which may lag until the next sweep. NULL when unknown.';
COMMENT ON COLUMN topic_people.avatar_url IS 'Picture of the person: a copy, which may lag until the next sweep. NULL when there is none.';
COMMENT ON COLUMN topic_people.is_bot IS 'True for a program that writes messages.';
COMMENT ON COLUMN topic_people.is_staff IS 'True for one of our own people. NULL when only the topic''s list of people names the person: it does not have this field.';
COMMENT ON COLUMN topic_people.is_vip IS 'True for a person marked as VIP: a copy, which may lag until the next sweep. NULL when only the topics list names the person: it does not have this field.';
COMMENT ON COLUMN topic_people.message_count IS 'Number of messages of the person in this topic, as the service counts them. NULL when only the topics list names the person.';
COMMENT ON COLUMN topic_people.sources IS 'Source systems in which the person takes part: a copy, which may lag until the next sweep. NULL when only the topics list names the person.';
COMMENT ON COLUMN topic_people.company_id IS 'The person''s company (companies.id): a copy, which may lag until the next sweep. NULL when the person has none.';
COMMENT ON COLUMN topic_people.company_name IS 'Name of the person''s company: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN topic_people.company_domain IS 'Domain of the person''s company: a copy, which may lag until the next sweep. NULL when unknown.';
COMMENT ON COLUMN topic_people.company_logo_url IS 'Logo of the person''s company: a copy, which may lag until the next sweep. NULL when there is none.';
COMMENT ON COLUMN topic_people.company_is_org_company IS 'True when the person''s company is our own: a copy, which may lag until the next sweep. NULL when the topics list does not name this company.';
COMMENT ON COLUMN topic_people.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN topic_people.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE topic_groups (
  topic_id VARCHAR,
  group_id VARCHAR,
  similarity_at_assignment DOUBLE,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE topic_groups IS 'Which conversations belong to which topic: from the topic''s list of conversations, or from the topic that a conversation of a company or person names, whichever is newer. Key: topic_id, group_id.';
COMMENT ON COLUMN topic_groups.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN topic_groups.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN topic_groups.similarity_at_assignment IS 'How similar the conversation was to this topic when it was assigned. NULL when the API does not say.';
COMMENT ON COLUMN topic_groups.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN topic_groups.run_id IS 'Run that last changed this row (ops.runs).';

-- Conversations (groups), their messages, and who takes part in them.

CREATE TABLE groups (
  id VARCHAR,
  title VARCHAR,
  start_timestamp TIMESTAMPTZ,
  end_timestamp TIMESTAMPTZ,
  archived_at TIMESTAMPTZ,
  similarity_at_assignment DOUBLE,
  topic_id VARCHAR,
  topic_title VARCHAR,
  topic_type VARCHAR,
  topic_is_v2 BOOLEAN,
  topic_keywords VARCHAR[],
  topic_sources VARCHAR[],
  topic_linked_issue_key VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE groups IS 'One row per conversation (message group), whether it came with a topic, a company or a person. Key: id.';
COMMENT ON COLUMN groups.id IS 'The API''s id of the conversation (a UUID).';
COMMENT ON COLUMN groups.title IS 'Title of the conversation. NULL when it has none; only a topic''s list of conversations has titles.';
COMMENT ON COLUMN groups.start_timestamp IS 'Start of the conversation (UTC). NULL when unknown.';
COMMENT ON COLUMN groups.end_timestamp IS 'End of the conversation so far (UTC). NULL when unknown.';
COMMENT ON COLUMN groups.archived_at IS 'When it was archived (UTC). NULL when it is not archived.';
COMMENT ON COLUMN groups.similarity_at_assignment IS 'How similar it was to its topic when it was assigned, according to the topic fetched last (topic_groups has it for each topic). NULL when the API does not say.';
COMMENT ON COLUMN groups.topic_id IS 'Topic of the conversation in the list of a company or person: a copy, which may lag until the next sweep. NULL when only a topic''s list has the conversation: join topic_groups, which has both.';
COMMENT ON COLUMN groups.topic_title IS 'Title of that topic: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN groups.topic_type IS 'Type of that topic: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN groups.topic_is_v2 IS 'True for a topic of the second generation: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN groups.topic_keywords IS 'Keywords of that topic: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN groups.topic_sources IS 'Source systems of that topic: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN groups.topic_linked_issue_key IS 'Key of the issue linked to that topic: a copy, which may lag until the next sweep. NULL when none is linked.';
COMMENT ON COLUMN groups.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN groups.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE group_companies (
  group_id VARCHAR,
  company_id VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE group_companies IS 'Which companies take part in which conversation, from each company''s list of conversations. Key: group_id, company_id.';
COMMENT ON COLUMN group_companies.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN group_companies.company_id IS 'The company (companies.id).';
COMMENT ON COLUMN group_companies.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN group_companies.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE group_people (
  group_id VARCHAR,
  person_id VARCHAR,
  via VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE group_people IS 'Which people take part in which conversation: the conversation is in the person''s list, or one of the person''s identities is the author of a message in it. Key: group_id, person_id.';
COMMENT ON COLUMN group_people.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN group_people.person_id IS 'The person (people.id).';
COMMENT ON COLUMN group_people.via IS 'The evidence: listed (the API lists the conversation for the person) or author (the person wrote a message in it). Where both are true: listed.';
COMMENT ON COLUMN group_people.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN group_people.run_id IS 'Latest run behind this row (ops.runs).';

CREATE TABLE messages (
  id VARCHAR,
  group_id VARCHAR,
  author_id VARCHAR,
  channel_id VARCHAR,
  channel_channel_name VARCHAR,
  channel_server_name VARCHAR,
  title VARCHAR,
  content VARCHAR,
  created_at TIMESTAMPTZ,
  edited_at TIMESTAMPTZ,
  deleted_at TIMESTAMPTZ,
  is_internal BOOLEAN,
  metadata JSON,
  reply_to_id VARCHAR,
  thread_id VARCHAR,
  source_name VARCHAR,
  source_url VARCHAR,
  source_message_id VARCHAR,
  source_message_type VARCHAR,
  source_reply_to_id VARCHAR,
  source_thread_id VARCHAR,
  reply_to JSON,
  thread JSON,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR,
  position INTEGER
);
COMMENT ON TABLE messages IS 'One row per message. A message that was deleted in its source keeps its row (deleted_at); one that no conversation contains any more is removed. Key: id.';
COMMENT ON COLUMN messages.id IS 'The API''s id of the message (a UUID).';
COMMENT ON COLUMN messages.group_id IS 'The conversation it belongs to (groups.id); the one fetched last, where several contain it.';
COMMENT ON COLUMN messages.author_id IS 'Who wrote it (authors.id). NULL when the API does not say.';
COMMENT ON COLUMN messages.channel_id IS 'Channel it was written in (channels.id). NULL when it was in none.';
COMMENT ON COLUMN messages.channel_channel_name IS 'Name of that channel: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN messages.channel_server_name IS 'Server or workspace of that channel: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN messages.title IS 'Title or subject. NULL when it has none.';
COMMENT ON COLUMN messages.content IS 'Full text.';
COMMENT ON COLUMN messages.created_at IS 'When it was written (UTC).';
COMMENT ON COLUMN messages.edited_at IS 'When it was last edited (UTC). NULL when it never was.';
COMMENT ON COLUMN messages.deleted_at IS 'When it was deleted in its source (UTC). NULL when it was not.';
COMMENT ON COLUMN messages.is_internal IS 'True for an internal note of the team, which the external party cannot see.';
COMMENT ON COLUMN messages.metadata IS 'Additional data from the source; free-form. NULL when there is none.';
COMMENT ON COLUMN messages.reply_to_id IS 'Message it replies to (messages.id). NULL when it replies to none.';
COMMENT ON COLUMN messages.thread_id IS 'Message that starts its thread (messages.id), as the API names it. NULL when it is in none.';
COMMENT ON COLUMN messages.source_name IS 'Source system, e.g. slack, discord, intercom.';
COMMENT ON COLUMN messages.source_url IS 'Its address in the source system. NULL when it has none.';
COMMENT ON COLUMN messages.source_message_id IS 'Its id in the source system.';
COMMENT ON COLUMN messages.source_message_type IS 'Its type in the source system.';
COMMENT ON COLUMN messages.source_reply_to_id IS 'Id in the source system of the message it replies to. NULL when it replies to none.';
COMMENT ON COLUMN messages.source_thread_id IS 'Id in the source system of its thread. NULL when it is in none.';
COMMENT ON COLUMN messages.reply_to IS 'The message it replies to: a copy, which may lag until the next sweep; its author is reduced to {id}. NULL when it replies to none.';
COMMENT ON COLUMN messages.thread IS 'The message that starts its thread: a copy, which may lag until the next sweep; its author is reduced to {id}. NULL when it is in none.';
COMMENT ON COLUMN messages.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN messages.run_id IS 'Run that last changed this row (ops.runs).';
COMMENT ON COLUMN messages.position IS 'Its place among the messages of its conversation with the same created_at, as the API returned them: 1, 2, … The order of messages is created_at, position.';

CREATE TABLE message_reactions (
  message_id VARCHAR,
  identifier VARCHAR,
  unicode VARCHAR,
  count BIGINT,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE message_reactions IS 'One row per kind of reaction to a message. Key: message_id, identifier.';
COMMENT ON COLUMN message_reactions.message_id IS 'The message (messages.id).';
COMMENT ON COLUMN message_reactions.identifier IS 'Normalized name of the reaction, e.g. thumbsup.';
COMMENT ON COLUMN message_reactions.unicode IS 'The emoji itself. NULL for a reaction that is not in Unicode.';
COMMENT ON COLUMN message_reactions.count IS 'Number of people who reacted like this; the sum, if the API names the same reaction twice.';
COMMENT ON COLUMN message_reactions.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN message_reactions.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE message_quotes (
  message_id VARCHAR,
  position BIGINT,
  content VARCHAR,
  confidence DOUBLE,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE message_quotes IS 'The passages of a message that the service highlights as worth quoting. Key: message_id, position.';
COMMENT ON COLUMN message_quotes.message_id IS 'The message (messages.id).';
COMMENT ON COLUMN message_quotes.position IS 'Place in the message''s list of highlights, counting from 1.';
COMMENT ON COLUMN message_quotes.content IS 'The passage.';
COMMENT ON COLUMN message_quotes.confidence IS 'How sure the service is of it, 0 to 1. NULL when it does not say.';
COMMENT ON COLUMN message_quotes.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN message_quotes.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE authors (
  id VARCHAR,
  display_name VARCHAR,
  is_bot BOOLEAN,
  source_name VARCHAR,
  source_author_id VARCHAR,
  source_avatar_url VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE authors IS 'One row per account that writes messages in a source system. A person may have several: person_identities links them (platform = source_name, platform_id = source_author_id). Key: id.';
COMMENT ON COLUMN authors.id IS 'The API''s id of the author (a UUID).';
COMMENT ON COLUMN authors.display_name IS 'Name in the source system. NULL when unknown.';
COMMENT ON COLUMN authors.is_bot IS 'True for a program that writes messages.';
COMMENT ON COLUMN authors.source_name IS 'Source system, e.g. slack, discord, intercom.';
COMMENT ON COLUMN authors.source_author_id IS 'Id in the source system.';
COMMENT ON COLUMN authors.source_avatar_url IS 'Picture in the source system. NULL when there is none.';
COMMENT ON COLUMN authors.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN authors.run_id IS 'Run that last changed this row (ops.runs).';

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

-- The organization, its channels and automation templates, the history of things, and generated stories.

CREATE TABLE organizations (
  id VARCHAR,
  name VARCHAR,
  slug VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE organizations IS 'The organization that these signals belong to: one row, because a warehouse belongs to one organization. Key: id.';
COMMENT ON COLUMN organizations.id IS 'The API''s id of the organization.';
COMMENT ON COLUMN organizations.name IS 'Name of the organization.';
COMMENT ON COLUMN organizations.slug IS 'Short name that is used in URLs.';
COMMENT ON COLUMN organizations.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN organizations.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE channels (
  id VARCHAR,
  channel_name VARCHAR,
  server_name VARCHAR,
  description VARCHAR,
  context VARCHAR,
  is_connected BOOLEAN,
  message_count BIGINT,
  last_seen_at TIMESTAMPTZ,
  source_name VARCHAR,
  source_channel_id VARCHAR,
  source_server_id VARCHAR,
  created_at TIMESTAMPTZ,
  updated_at TIMESTAMPTZ,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE channels IS 'One row per channel that the service listens to. Key: id.';
COMMENT ON COLUMN channels.id IS 'The API''s id of the channel (a UUID).';
COMMENT ON COLUMN channels.channel_name IS 'Name of the channel.';
COMMENT ON COLUMN channels.server_name IS 'Server or workspace it is in.';
COMMENT ON COLUMN channels.description IS 'Description of the channel. NULL when it has none.';
COMMENT ON COLUMN channels.context IS 'What the channel is for and how to prioritise it, as a user wrote it for the service.';
COMMENT ON COLUMN channels.is_connected IS 'False when the bot has left the source server.';
COMMENT ON COLUMN channels.message_count IS 'Number of messages, as the service counts them.';
COMMENT ON COLUMN channels.last_seen_at IS 'Time of the latest message (UTC). NULL when there is none.';
COMMENT ON COLUMN channels.source_name IS 'Source system, e.g. slack.';
COMMENT ON COLUMN channels.source_channel_id IS 'Id of the channel in the source system.';
COMMENT ON COLUMN channels.source_server_id IS 'Id of the server or workspace in the source system.';
COMMENT ON COLUMN channels.created_at IS 'When the channel was created in the service (UTC).';
COMMENT ON COLUMN channels.updated_at IS 'When it was last updated there (UTC).';
COMMENT ON COLUMN channels.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN channels.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE history (
  id VARCHAR,
  entity_type VARCHAR,
  entity_id VARCHAR,
  changed_at TIMESTAMPTZ,
  changed_by VARCHAR,
  operation VARCHAR,
  changes JSON,
  previous_values JSON,
  user_id VARCHAR,
  user_name VARCHAR,
  user_image VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE history IS 'One row per recorded change of a topic, company or person. Records are only added. Key: id.';
COMMENT ON COLUMN history.id IS 'The API''s id of the record (a UUID).';
COMMENT ON COLUMN history.entity_type IS 'What was changed: topic, company or person.';
COMMENT ON COLUMN history.entity_id IS 'Id of what was changed (topics.id, companies.id or people.id).';
COMMENT ON COLUMN history.changed_at IS 'When it was changed (UTC).';
COMMENT ON COLUMN history.changed_by IS 'agent (AI), system (internal or cascading) or user (by hand).';
COMMENT ON COLUMN history.operation IS 'INSERT, UPDATE or DELETE.';
COMMENT ON COLUMN history.changes IS 'The changed fields with their new values, as JSON; free-form.';
COMMENT ON COLUMN history.previous_values IS 'The changed fields with their old values, as JSON; free-form. NULL where there are none.';
COMMENT ON COLUMN history.user_id IS 'User who changed it. NULL when it was not a user.';
COMMENT ON COLUMN history.user_name IS 'Name of that user when the record was fetched.';
COMMENT ON COLUMN history.user_image IS 'Picture of that user when the record was fetched. NULL when there is none.';
COMMENT ON COLUMN history.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN history.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE merges (
  entity_type VARCHAR,
  source_id VARCHAR,
  source_name VARCHAR,
  target_id VARCHAR,
  target_name VARCHAR,
  merge_id VARCHAR,
  merged_at TIMESTAMPTZ,
  user_id VARCHAR,
  user_name VARCHAR,
  user_image VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE merges IS 'Which topic, company or person was merged into which: from the history of either side, or the newer one where both have it. Key: entity_type, source_id, target_id.';
COMMENT ON COLUMN merges.entity_type IS 'What was merged: topic, company or person.';
COMMENT ON COLUMN merges.source_id IS 'Id of the one that was merged away.';
COMMENT ON COLUMN merges.source_name IS 'Its name or title, from the target''s history or else from its own row: a copy, which may lag until the next sweep. NULL when unknown.';
COMMENT ON COLUMN merges.target_id IS 'Id of the one that it was merged into.';
COMMENT ON COLUMN merges.target_name IS 'Its name or title, from its own row or else from the source''s history. NULL when unknown.';
COMMENT ON COLUMN merges.merge_id IS 'The API''s id of the merge; one merge may have several sources.';
COMMENT ON COLUMN merges.merged_at IS 'When they were merged (UTC).';
COMMENT ON COLUMN merges.user_id IS 'User who merged them. NULL when it was not a user.';
COMMENT ON COLUMN merges.user_name IS 'Name of that user when the history was fetched.';
COMMENT ON COLUMN merges.user_image IS 'Picture of that user when the history was fetched. NULL when there is none.';
COMMENT ON COLUMN merges.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN merges.run_id IS 'Latest run behind this row (ops.runs).';

CREATE TABLE stories (
  slug VARCHAR,
  title VARCHAR,
  summary VARCHAR,
  version VARCHAR,
  detail_title VARCHAR,
  detail_main JSON,
  detail_sidebar JSON,
  list JSON,
  is_read BOOLEAN,
  viewer_relevance_member_id VARCHAR,
  viewer_relevance_relevance_kind VARCHAR,
  viewer_relevance_relevance_label VARCHAR,
  viewer_relevance_relevance_rationale VARCHAR,
  viewer_relevance_linked_author_ids VARCHAR[],
  viewer_relevance_user_id VARCHAR,
  viewer_relevance_user_name VARCHAR,
  viewer_relevance_user_image VARCHAR,
  created_at TIMESTAMPTZ,
  archived_at TIMESTAMPTZ,
  archived_reason VARCHAR,
  archived_actor_type VARCHAR,
  archived_actor_name VARCHAR,
  archived_actor_image VARCHAR,
  archived_actor_user_id VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE stories IS 'One row per story that the service generated: the fields of the stories list and of the story''s detail, combined. A list has at most 100 stories, so a story that is not listed is not marked as deleted. Key: slug.';
COMMENT ON COLUMN stories.slug IS 'The API''s name of the story.';
COMMENT ON COLUMN stories.title IS 'Title.';
COMMENT ON COLUMN stories.summary IS 'Summary.';
COMMENT ON COLUMN stories.version IS 'Version of the draft, as the API gives it.';
COMMENT ON COLUMN stories.detail_title IS 'Title of the story''s page.';
COMMENT ON COLUMN stories.detail_main IS 'Main part of the story''s page: a layout of elements, as JSON.';
COMMENT ON COLUMN stories.detail_sidebar IS 'Sidebar of the story''s page: a layout of elements, as JSON.';
COMMENT ON COLUMN stories.list IS 'The story as it appears in a list: a layout of elements, as JSON.';
COMMENT ON COLUMN stories.is_read IS 'Whether the viewer (the user that the API assumes for the key) has read it. NULL when only the story''s detail was fetched.';
COMMENT ON COLUMN stories.viewer_relevance_member_id IS 'Member of the organization that the viewer is. NULL when the story does not concern the viewer.';
COMMENT ON COLUMN stories.viewer_relevance_relevance_kind IS 'How it concerns the viewer: action, awareness or ownership. NULL when it does not.';
COMMENT ON COLUMN stories.viewer_relevance_relevance_label IS 'A short label for that. NULL when there is none.';
COMMENT ON COLUMN stories.viewer_relevance_relevance_rationale IS 'Why it concerns the viewer. NULL when it does not.';
COMMENT ON COLUMN stories.viewer_relevance_linked_author_ids IS 'Authors (authors.id) that are the viewer. NULL when it does not concern the viewer.';
COMMENT ON COLUMN stories.viewer_relevance_user_id IS 'The user behind the viewer. NULL when it does not concern the viewer.';
COMMENT ON COLUMN stories.viewer_relevance_user_name IS 'Name of that user: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN stories.viewer_relevance_user_image IS 'Picture of that user: a copy, which may lag until the next sweep. NULL when there is none.';
COMMENT ON COLUMN stories.created_at IS 'When the story was created (UTC).';
COMMENT ON COLUMN stories.archived_at IS 'When it was archived (UTC). NULL when it is not archived.';
COMMENT ON COLUMN stories.archived_reason IS 'Why it was archived. NULL when it is not archived, or no reason was given.';
COMMENT ON COLUMN stories.archived_actor_type IS 'Who archived it: agent (the service itself) or member. NULL when it is not archived.';
COMMENT ON COLUMN stories.archived_actor_name IS 'Name of the agent or member who archived it. NULL when it is not archived.';
COMMENT ON COLUMN stories.archived_actor_image IS 'Picture of the member who archived it. NULL when there is none.';
COMMENT ON COLUMN stories.archived_actor_user_id IS 'User id of the member who archived it. NULL when there is none.';
COMMENT ON COLUMN stories.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN stories.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE story_sources (
  story_slug VARCHAR,
  position BIGINT,
  type VARCHAR,
  source_id VARCHAR,
  label VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE story_sources IS 'The sources of a story. Key: story_slug, position.';
COMMENT ON COLUMN story_sources.story_slug IS 'The story (stories.slug).';
COMMENT ON COLUMN story_sources.position IS 'Place in the story''s list of sources, counting from 1.';
COMMENT ON COLUMN story_sources.type IS 'Kind of the source: author, company, email, intercom, issue, message, person, slack or topic.';
COMMENT ON COLUMN story_sources.source_id IS 'Id of the source; its type tells which table has it.';
COMMENT ON COLUMN story_sources.label IS 'Name of the source in the story. NULL when it has none.';
COMMENT ON COLUMN story_sources.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN story_sources.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE story_members (
  story_slug VARCHAR,
  member_id VARCHAR,
  relevance_kind VARCHAR,
  relevance_label VARCHAR,
  relevance_rationale VARCHAR,
  linked_author_ids VARCHAR[],
  user_id VARCHAR,
  user_name VARCHAR,
  user_image VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE story_members IS 'The members of the organization that a story concerns, and how. Key: story_slug, member_id.';
COMMENT ON COLUMN story_members.story_slug IS 'The story (stories.slug).';
COMMENT ON COLUMN story_members.member_id IS 'The member.';
COMMENT ON COLUMN story_members.relevance_kind IS 'How it concerns the member: action, awareness or ownership.';
COMMENT ON COLUMN story_members.relevance_label IS 'A short label for that. NULL when there is none.';
COMMENT ON COLUMN story_members.relevance_rationale IS 'Why it concerns the member.';
COMMENT ON COLUMN story_members.linked_author_ids IS 'Authors (authors.id) that are this member.';
COMMENT ON COLUMN story_members.user_id IS 'The user behind this member.';
COMMENT ON COLUMN story_members.user_name IS 'Name of that user: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN story_members.user_image IS 'Picture of that user: a copy, which may lag until the next sweep. NULL when there is none.';
COMMENT ON COLUMN story_members.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN story_members.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE automation_templates (
  slug VARCHAR,
  name VARCHAR,
  description VARCHAR,
  prompt VARCHAR,
  schedule JSON,
  timezone VARCHAR,
  model_level VARCHAR,
  capability_mode VARCHAR,
  allowed_capabilities VARCHAR[],
  created_at TIMESTAMPTZ,
  updated_at TIMESTAMPTZ,
  body JSON,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE automation_templates IS 'One row per automation template. Their fields are not documented: the columns are assumed from those of an automation, and body has everything that the API returned. Key: slug.';
COMMENT ON COLUMN automation_templates.slug IS 'The API''s name of the template.';
COMMENT ON COLUMN automation_templates.name IS 'Name. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.description IS 'Description. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.prompt IS 'Instructions that are executed on each run. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.schedule IS 'Schedule as JSON. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.timezone IS 'Time zone of the schedule (IANA). NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.model_level IS 'high, med or low. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.capability_mode IS 'all or custom. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.allowed_capabilities IS 'Capability keys when the mode is custom. NULL means all, or that the API has no field of this name.';
COMMENT ON COLUMN automation_templates.created_at IS 'When it was created (UTC). NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.updated_at IS 'When it was last updated (UTC). NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.body IS 'The whole template, without fields that are null: the list''s item and the answer by slug combined, the newer field wins.';
COMMENT ON COLUMN automation_templates.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN automation_templates.run_id IS 'Run that last changed this row (ops.runs).';

-- What no answer of the API says, and this worker knows from having asked for it or having looked often.

CREATE TABLE history_requests (
  history_id VARCHAR,
  change_id VARCHAR,
  requested_by VARCHAR,
  requested_reason VARCHAR
);
COMMENT ON TABLE history_requests IS 'Which records of the history a change made that was queued here: the API shows them as made by its key. One row per record. Key: history_id.';
COMMENT ON COLUMN history_requests.history_id IS 'The record (history.id).';
COMMENT ON COLUMN history_requests.change_id IS 'The change (ops.changes.id).';
COMMENT ON COLUMN history_requests.requested_by IS 'The person who requested it. NULL when nobody was named.';
COMMENT ON COLUMN history_requests.requested_reason IS 'Why: the reason that was given with the request, or that for the archiving. NULL when none was given.';

-- Topics, and people, that are probably the same, with the pairs that have been merged, which show how good this is.

CREATE TABLE duplicate_pairs (
  entity_type VARCHAR,
  id_1 VARCHAR,
  id_2 VARCHAR,
  score DOUBLE,
  reasons VARCHAR[],
  outcome VARCHAR
);
COMMENT ON TABLE duplicate_pairs IS 'The pairs of probable_duplicates, and those that were merged since. Key: entity_type, id_1, id_2.';
COMMENT ON COLUMN duplicate_pairs.entity_type IS 'What they are: topic or person.';
COMMENT ON COLUMN duplicate_pairs.id_1 IS 'The one whose id is the smaller (topics.id or people.id).';
COMMENT ON COLUMN duplicate_pairs.id_2 IS 'The other one (topics.id or people.id).';
COMMENT ON COLUMN duplicate_pairs.score IS 'How much speaks for it, above 0 and below 1. It ranks pairs and is no probability: probable_duplicates_precision says how often it was right.';
COMMENT ON COLUMN duplicate_pairs.reasons IS 'What speaks for it and against it, in words: the rare words that both have, people and companies in both, how far apart they began.';
COMMENT ON COLUMN duplicate_pairs.outcome IS 'open (both are there), merged (one was merged into the other), or gone (one of them was merged into something else).';
