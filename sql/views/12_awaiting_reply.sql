-- The last turn of each conversation, and whether staff was there before: by the latest message of staff, in a third of the time
-- that all turns (conversation_turns) take.
CREATE OR REPLACE VIEW awaiting_reply AS
WITH spoken AS MATERIALIZED (
  SELECT group_id, message_id, side, is_vip, created_at, position
  FROM message_senders
  -- Bots do not answer, and an internal note is not seen by the other side.
  WHERE side <> 'bot' AND NOT is_internal AND created_at IS NOT NULL
),
sides AS (
  SELECT
    group_id,
    max((created_at, position, message_id)) FILTER (side = 'staff') AS last_of_staff,
    min((created_at, position, message_id)) FILTER (side = 'external') AS first_from_outside
  FROM spoken
  GROUP BY group_id
),
waiting AS (
  SELECT
    spoken.group_id,
    min(created_at) AS began_at,
    max(created_at) AS ended_at,
    arg_max(message_id, (created_at, position, message_id)) AS last_message_id,
    count(*) AS messages,
    bool_or(is_vip) AS is_vip,
    coalesce(any_value(last_of_staff > first_from_outside), false) AS was_answered_before
  FROM spoken
  JOIN sides ON sides.group_id = spoken.group_id
  WHERE side = 'external' AND (last_of_staff IS NULL OR (created_at, position, message_id) > last_of_staff)
  GROUP BY spoken.group_id
)
SELECT
  waiting.group_id,
  groups.title,
  topic.topic_id,
  topic.title AS topic_title,
  topic.priority AS topic_priority,
  topic.priority_rank AS topic_priority_rank,
  topic.lifecycle_state AS topic_lifecycle_state,
  topic.is_open,
  waiting.began_at AS waiting_since,
  date_diff('microsecond', waiting.began_at, as_of) / 3600e6 AS waiting_hours,
  waiting.ended_at AS last_message_at,
  waiting.last_message_id AS last_message_id,
  messages.author_id AS last_author_id,
  author.person_id AS last_person_id,
  author.display_name AS last_name,
  author.company_id AS last_company_id,
  'external' AS side,
  waiting.is_vip,
  waiting.was_answered_before,
  waiting.messages,
  messages.source_name,
  messages.source_url
FROM waiting
CROSS JOIN data_as_of
JOIN groups ON groups.id = waiting.group_id
JOIN messages ON messages.id = waiting.last_message_id
LEFT JOIN author_people AS author ON author.author_id = messages.author_id
LEFT JOIN conversation_topics AS topic ON topic.group_id = waiting.group_id
WHERE groups.archived_at IS NULL;

COMMENT ON VIEW awaiting_reply IS 'Who is waiting for a reply from us, and since when? One row per conversation in which somebody from outside wrote last, never answered (also in unanswered_groups) or answered before. Archived conversations are left out. Messages of bots and internal notes do not count.';
COMMENT ON COLUMN awaiting_reply.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN awaiting_reply.title IS 'Title of the conversation. NULL when it has none.';
COMMENT ON COLUMN awaiting_reply.topic_id IS 'Its topic (topics.id), as in conversation_topics. NULL when it is in none.';
COMMENT ON COLUMN awaiting_reply.topic_title IS 'Title of that topic.';
COMMENT ON COLUMN awaiting_reply.topic_priority IS 'Priority of that topic.';
COMMENT ON COLUMN awaiting_reply.topic_priority_rank IS 'That priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN awaiting_reply.topic_lifecycle_state IS 'Lifecycle state of that topic. NULL when it was never assessed.';
COMMENT ON COLUMN awaiting_reply.is_open IS 'True when that topic is open (open_topics). NULL when it is in none.';
COMMENT ON COLUMN awaiting_reply.waiting_since IS 'When somebody from outside first wrote after the last message of staff (UTC).';
COMMENT ON COLUMN awaiting_reply.waiting_hours IS 'Hours from waiting_since to data_as_of.as_of, with fractions.';
COMMENT ON COLUMN awaiting_reply.last_message_at IS 'When somebody from outside last wrote (UTC).';
COMMENT ON COLUMN awaiting_reply.last_message_id IS 'That message (messages.id).';
COMMENT ON COLUMN awaiting_reply.last_author_id IS 'The account that wrote it (authors.id). NULL when unknown.';
COMMENT ON COLUMN awaiting_reply.last_person_id IS 'The person who wrote it (people.id). NULL when unknown.';
COMMENT ON COLUMN awaiting_reply.last_name IS 'Name of that person or account. NULL when unknown.';
COMMENT ON COLUMN awaiting_reply.last_company_id IS 'Company of that person (companies.id). NULL when there is none.';
COMMENT ON COLUMN awaiting_reply.side IS 'The side that wrote last: external, because staff has to reply.';
COMMENT ON COLUMN awaiting_reply.is_vip IS 'True when one of those who wrote since waiting_since, or one of their companies, is marked as VIP.';
COMMENT ON COLUMN awaiting_reply.was_answered_before IS 'True when staff had answered before. False when staff never did.';
COMMENT ON COLUMN awaiting_reply.messages IS 'Messages from outside since waiting_since.';
COMMENT ON COLUMN awaiting_reply.source_name IS 'Source system of the last message.';
COMMENT ON COLUMN awaiting_reply.source_url IS 'Address of the last message in its source system. NULL when it has none.';
