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
