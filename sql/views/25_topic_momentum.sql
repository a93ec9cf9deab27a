CREATE OR REPLACE VIEW topic_momentum AS
WITH activity AS (
  SELECT
    topic_groups.topic_id,
    count(*) FILTER (created_at > as_of - INTERVAL 168 HOUR) AS messages_last_7_days,
    count(*) FILTER (created_at > as_of - INTERVAL 336 HOUR AND created_at <= as_of - INTERVAL 168 HOUR)
      AS messages_7_days_before,
    count(*) FILTER (created_at > as_of - INTERVAL 672 HOUR) AS messages_last_28_days,
    count(*) FILTER (created_at <= as_of - INTERVAL 672 HOUR) AS messages_28_days_before,
    count(DISTINCT sender_id) FILTER (created_at > as_of - INTERVAL 672 HOUR) AS people_last_28_days,
    count(DISTINCT sender_id) FILTER (created_at <= as_of - INTERVAL 672 HOUR) AS people_28_days_before,
    count(DISTINCT company_id) FILTER (created_at > as_of - INTERVAL 672 HOUR) AS companies_last_28_days,
    count(DISTINCT company_id) FILTER (created_at <= as_of - INTERVAL 672 HOUR) AS companies_28_days_before
  FROM message_senders
  JOIN topic_groups USING (group_id)
  CROSS JOIN data_as_of
  WHERE side = 'external' AND created_at <= as_of AND created_at > as_of - INTERVAL 1344 HOUR
  GROUP BY topic_groups.topic_id
)
SELECT
  topics.id AS topic_id,
  topics.title,
  topics.priority,
  topics.priority_rank,
  topics.lifecycle_state,
  open_topics.topic_id IS NOT NULL AS is_open,
  coalesce(activity.messages_last_7_days, 0) AS messages_last_7_days,
  coalesce(activity.messages_7_days_before, 0) AS messages_7_days_before,
  activity.messages_last_7_days / nullif(activity.messages_7_days_before, 0) AS growth_7_days,
  coalesce(activity.messages_last_28_days, 0) AS messages_last_28_days,
  coalesce(activity.messages_28_days_before, 0) AS messages_28_days_before,
  activity.messages_last_28_days / nullif(activity.messages_28_days_before, 0) AS growth_28_days,
  coalesce(activity.messages_last_28_days >= 2 * activity.messages_28_days_before AND activity.messages_28_days_before > 0, false) AS has_doubled,
  coalesce(activity.messages_last_28_days > 0 AND activity.messages_28_days_before = 0, false) AS is_new,
  coalesce(activity.people_last_28_days, 0) AS people_last_28_days,
  coalesce(activity.people_28_days_before, 0) AS people_28_days_before,
  coalesce(activity.companies_last_28_days, 0) AS companies_last_28_days,
  coalesce(activity.companies_28_days_before, 0) AS companies_28_days_before
FROM topics
LEFT JOIN activity ON activity.topic_id = topics.id
LEFT JOIN open_topics ON open_topics.topic_id = topics.id
WHERE topics.deleted_at IS NULL;

COMMENT ON VIEW topic_momentum IS 'Which topics grow, and how fast? One row per topic that is not deleted. Counts back from data_as_of.as_of, from the messages themselves, without staff and bots.';
COMMENT ON COLUMN topic_momentum.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN topic_momentum.title IS 'Title of the topic.';
COMMENT ON COLUMN topic_momentum.priority IS 'very_low, low, default, high or very_high.';
COMMENT ON COLUMN topic_momentum.priority_rank IS 'The priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN topic_momentum.lifecycle_state IS 'Lifecycle state. NULL when it was never assessed.';
COMMENT ON COLUMN topic_momentum.is_open IS 'True for a topic of the backlog.';
COMMENT ON COLUMN topic_momentum.messages_last_7_days IS 'Messages in the last 7 days.';
COMMENT ON COLUMN topic_momentum.messages_7_days_before IS 'Messages in the 7 days before those.';
COMMENT ON COLUMN topic_momentum.growth_7_days IS 'messages_last_7_days as a multiple of messages_7_days_before: 2 is twice as many. NULL when there were none before.';
COMMENT ON COLUMN topic_momentum.messages_last_28_days IS 'Messages in the last 28 days.';
COMMENT ON COLUMN topic_momentum.messages_28_days_before IS 'Messages in the 28 days before those.';
COMMENT ON COLUMN topic_momentum.growth_28_days IS 'messages_last_28_days as a multiple of messages_28_days_before. NULL when there were none before.';
COMMENT ON COLUMN topic_momentum.has_doubled IS 'True when there were at least twice as many messages in the last 28 days as in the 28 before, and some before.';
COMMENT ON COLUMN topic_momentum.is_new IS 'True when there were messages in the last 28 days and none in the 28 before.';
COMMENT ON COLUMN topic_momentum.people_last_28_days IS 'Different people who wrote in the last 28 days.';
COMMENT ON COLUMN topic_momentum.people_28_days_before IS 'Different people who wrote in the 28 days before.';
COMMENT ON COLUMN topic_momentum.companies_last_28_days IS 'Different companies of those people in the last 28 days.';
COMMENT ON COLUMN topic_momentum.companies_28_days_before IS 'Different companies of those people in the 28 days before.';
