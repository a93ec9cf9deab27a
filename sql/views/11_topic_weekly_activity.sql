CREATE OR REPLACE VIEW topic_weekly_activity AS
SELECT
  topics.id AS topic_id,
  topics.title,
  message_senders.week,
  count(*) FILTER (side = 'external') AS messages,
  count(DISTINCT sender_id) FILTER (side = 'external') AS people,
  count(DISTINCT company_id) FILTER (side = 'external') AS companies,
  count(DISTINCT message_senders.group_id) AS conversations,
  count(*) FILTER (side = 'staff') AS staff_messages,
  count(*) FILTER (side = 'bot') AS bot_messages
FROM message_senders
JOIN topic_groups ON topic_groups.group_id = message_senders.group_id
JOIN topics ON topics.id = topic_groups.topic_id
WHERE topics.deleted_at IS NULL AND message_senders.week IS NOT NULL
GROUP BY topics.id, topics.title, message_senders.week;

COMMENT ON VIEW topic_weekly_activity IS 'How many messages did a topic get each week, and from how many people? One row per topic and ISO week (UTC) with any message; counted from the messages themselves.';
COMMENT ON COLUMN topic_weekly_activity.topic_id IS 'The topic (topics.id); deleted ones are left out.';
COMMENT ON COLUMN topic_weekly_activity.title IS 'Title of the topic.';
COMMENT ON COLUMN topic_weekly_activity.week IS 'Monday of the ISO week (UTC).';
COMMENT ON COLUMN topic_weekly_activity.messages IS 'Messages, without staff and bots.';
COMMENT ON COLUMN topic_weekly_activity.people IS 'Different people who wrote them; an account without a known person counts as one.';
COMMENT ON COLUMN topic_weekly_activity.companies IS 'Different companies of those people.';
COMMENT ON COLUMN topic_weekly_activity.conversations IS 'Conversations in which anybody wrote.';
COMMENT ON COLUMN topic_weekly_activity.staff_messages IS 'Messages of staff, internal notes included.';
COMMENT ON COLUMN topic_weekly_activity.bot_messages IS 'Messages of bots.';
