CREATE OR REPLACE VIEW unanswered_groups AS
WITH unanswered AS MATERIALIZED (
  FROM awaiting_reply
  WHERE NOT was_answered_before
),
said AS MATERIALIZED (
  SELECT said.*
  FROM message_senders AS said
  JOIN unanswered ON unanswered.group_id = said.group_id
),
asked AS (
  SELECT
    group_id,
    arg_min({'sender_id': sender_id, 'message_id': message_id}, (created_at, position, message_id)) AS opening
  FROM said
  WHERE side = 'external' AND created_at IS NOT NULL
  GROUP BY group_id
),
involved AS (
  SELECT
    said.group_id,
    any_value(asked.opening.message_id) AS first_message_id,
    count(DISTINCT said.sender_id) FILTER (side = 'external') AS people,
    count(DISTINCT said.company_id) FILTER (side = 'external') AS companies,
    count(*) FILTER (is_internal) AS internal_notes,
    count(*) FILTER (side = 'external' AND said.sender_id <> asked.opening.sender_id) AS community_answers
  FROM said
  JOIN asked ON asked.group_id = said.group_id
  GROUP BY said.group_id
)
SELECT
  unanswered.group_id,
  unanswered.title,
  unanswered.topic_id,
  unanswered.topic_title,
  unanswered.topic_priority,
  unanswered.topic_priority_rank,
  unanswered.topic_lifecycle_state,
  unanswered.is_open,
  unanswered.waiting_since AS opened_at,
  unanswered.last_message_at,
  unanswered.waiting_hours,
  unanswered.messages,
  involved.people,
  involved.companies,
  unanswered.is_vip,
  involved.community_answers,
  involved.internal_notes,
  messages.source_name,
  messages.source_url
FROM unanswered
JOIN involved ON involved.group_id = unanswered.group_id
JOIN messages ON messages.id = involved.first_message_id;

COMMENT ON VIEW unanswered_groups IS 'Who has never got an answer? One row per conversation in which somebody from outside wrote and staff never answered: those of awaiting_reply that were not answered before. Archived conversations are left out. Messages of bots and internal notes do not count as answers.';
COMMENT ON COLUMN unanswered_groups.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN unanswered_groups.title IS 'Title of the conversation. NULL when it has none.';
COMMENT ON COLUMN unanswered_groups.topic_id IS 'Its topic (topics.id), as in conversation_topics. NULL when it is in none.';
COMMENT ON COLUMN unanswered_groups.topic_title IS 'Title of that topic.';
COMMENT ON COLUMN unanswered_groups.topic_priority IS 'Priority of that topic.';
COMMENT ON COLUMN unanswered_groups.topic_priority_rank IS 'That priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN unanswered_groups.topic_lifecycle_state IS 'Lifecycle state of that topic. NULL when it was never assessed.';
COMMENT ON COLUMN unanswered_groups.is_open IS 'True when that topic is open (open_topics). NULL when it is in none.';
COMMENT ON COLUMN unanswered_groups.opened_at IS 'When somebody from outside first wrote (UTC).';
COMMENT ON COLUMN unanswered_groups.last_message_at IS 'When somebody from outside last wrote (UTC).';
COMMENT ON COLUMN unanswered_groups.waiting_hours IS 'Hours from opened_at to data_as_of.as_of, with fractions.';
COMMENT ON COLUMN unanswered_groups.messages IS 'Messages from outside.';
COMMENT ON COLUMN unanswered_groups.people IS 'Different people who wrote them.';
COMMENT ON COLUMN unanswered_groups.companies IS 'Different companies of those people.';
COMMENT ON COLUMN unanswered_groups.is_vip IS 'True when one of them, or one of their companies, is marked as VIP.';
COMMENT ON COLUMN unanswered_groups.community_answers IS 'Messages from outside by people other than the one who opened it: the community may have answered already.';
COMMENT ON COLUMN unanswered_groups.internal_notes IS 'Internal notes of the team in it: somebody may be working on it already.';
COMMENT ON COLUMN unanswered_groups.source_name IS 'Source system of the first message.';
COMMENT ON COLUMN unanswered_groups.source_url IS 'Address of the first message in its source system. NULL when it has none.';
