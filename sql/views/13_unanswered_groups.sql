CREATE OR REPLACE VIEW unanswered_groups AS
WITH opened AS (
  SELECT
    group_id,
    min((created_at, position)) AS opened_at,
    arg_min(sender_id, (created_at, position, message_id)) AS asker_id
  FROM message_senders
  WHERE side = 'external'
  GROUP BY group_id
),
unanswered AS (
  SELECT
    m.group_id,
    any_value(opened.opened_at[1]) AS opened_at,
    max(created_at) FILTER (side = 'external') AS last_message_at,
    count(*) FILTER (side = 'external') AS messages,
    count(DISTINCT sender_id) FILTER (side = 'external') AS people,
    count(DISTINCT company_id) FILTER (side = 'external') AS companies,
    coalesce(bool_or(is_vip) FILTER (side = 'external'), false) AS is_vip,
    count(*) FILTER (is_internal) AS internal_notes,
    count(*) FILTER (side = 'external' AND sender_id <> opened.asker_id) AS community_answers,
    arg_min(message_id, (created_at, position, message_id)) FILTER (side = 'external') AS first_message_id
  FROM message_senders AS m
  JOIN opened USING (group_id)
  GROUP BY m.group_id
  -- An internal note is not an answer, and neither is a message of staff before the first one from outside.
  HAVING NOT coalesce(bool_or(side = 'staff' AND NOT is_internal AND (created_at, position) >= opened.opened_at), false)
)
SELECT
  unanswered.group_id,
  groups.title,
  topic.topic_id,
  topic.title AS topic_title,
  topic.priority AS topic_priority,
  topic.lifecycle_state AS topic_lifecycle_state,
  unanswered.opened_at,
  unanswered.last_message_at,
  date_diff('microsecond', unanswered.opened_at, as_of) / 3600e6 AS waiting_hours,
  unanswered.messages,
  unanswered.people,
  unanswered.companies,
  unanswered.is_vip,
  unanswered.community_answers,
  unanswered.internal_notes,
  messages.source_name,
  messages.source_url
FROM unanswered
CROSS JOIN data_as_of
JOIN groups ON groups.id = unanswered.group_id
JOIN messages ON messages.id = unanswered.first_message_id
LEFT JOIN conversation_topics AS topic ON topic.group_id = unanswered.group_id
WHERE groups.archived_at IS NULL;

COMMENT ON VIEW unanswered_groups IS 'Who has never got an answer? One row per conversation in which somebody from outside wrote and staff never answered. Those who were answered and wrote again are in awaiting_reply. Archived conversations are left out. Messages of bots and internal notes do not count as answers.';
COMMENT ON COLUMN unanswered_groups.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN unanswered_groups.title IS 'Title of the conversation. NULL when it has none.';
COMMENT ON COLUMN unanswered_groups.topic_id IS 'Its topic (topics.id), the most urgent one where there are several. NULL when it is in none.';
COMMENT ON COLUMN unanswered_groups.topic_title IS 'Title of that topic.';
COMMENT ON COLUMN unanswered_groups.topic_priority IS 'Priority of that topic.';
COMMENT ON COLUMN unanswered_groups.topic_lifecycle_state IS 'Lifecycle state of that topic. NULL when it was never assessed.';
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
