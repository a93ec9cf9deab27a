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
COMMENT ON TABLE group_companies IS 'Which companies take part in which conversation: from each company''s list of conversations, and from the messages of its people. Key: group_id, company_id.';
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
