CREATE OR REPLACE VIEW company_health AS
WITH spoken AS MATERIALIZED (
  SELECT company_id, group_id, sender_id, side, is_internal, created_at
  FROM message_senders
),
activity AS (
  SELECT
    company_id,
    count(*) AS messages,
    count(DISTINCT sender_id) AS people,
    count(*) FILTER (created_at > as_of - INTERVAL 672 HOUR) AS messages_last_28_days,
    count(*) FILTER (created_at > as_of - INTERVAL 1344 HOUR AND created_at <= as_of - INTERVAL 672 HOUR)
      AS messages_28_days_before,
    max(created_at) AS last_message_at
  FROM spoken
  CROSS JOIN data_as_of
  WHERE side = 'external' AND created_at <= as_of
  GROUP BY company_id
),
spoken_in AS (
  SELECT DISTINCT company_id, group_id
  FROM spoken
  WHERE side = 'external' AND company_id IS NOT NULL
),
unreplied AS MATERIALIZED (
  SELECT group_id, last_company_id, waiting_hours, was_answered_before
  FROM awaiting_reply
),
waiting AS (
  SELECT last_company_id AS company_id, count(*) AS waiting_conversations, max(waiting_hours) AS longest_wait_hours
  FROM unreplied
  GROUP BY last_company_id
),
unanswered AS (
  SELECT company_id, count(*) AS unanswered_groups
  FROM spoken_in
  JOIN unreplied USING (group_id)
  WHERE NOT was_answered_before
  GROUP BY company_id
),
talking AS (
  SELECT company_id, count(DISTINCT group_id) AS open_conversations
  FROM spoken_in
  JOIN topic_groups USING (group_id)
  JOIN open_topics USING (topic_id)
  GROUP BY company_id
),
replies AS (
  SELECT group_id, max(created_at) AS last_staff_reply_at
  FROM spoken
  CROSS JOIN data_as_of
  WHERE side = 'staff' AND NOT is_internal AND created_at <= as_of
  GROUP BY group_id
),
replied AS (
  SELECT company_id, max(last_staff_reply_at) AS last_staff_reply_at
  FROM spoken_in
  JOIN replies USING (group_id)
  GROUP BY company_id
),
concerned AS (
  SELECT
    person_roles.company_id,
    count(DISTINCT open_topics.topic_id) AS open_topics,
    count(DISTINCT open_topics.topic_id) FILTER (open_topics.priority_rank <= 2) AS urgent_topics
  FROM topic_people
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = topic_people.person_id
  JOIN person_roles ON person_roles.person_id = coalesce(final_ids.final_id, topic_people.person_id)
  JOIN open_topics ON open_topics.topic_id = topic_people.topic_id
  WHERE NOT person_roles.is_bot AND NOT person_roles.is_staff
  GROUP BY person_roles.company_id
)
SELECT
  c.id AS company_id,
  c.name,
  c.primary_domain,
  coalesce(c.is_vip, false) AS is_vip,
  c.person_count AS people,
  coalesce(activity.people, 0) AS people_who_wrote,
  coalesce(activity.messages, 0) AS messages,
  coalesce(activity.messages_last_28_days, 0) AS messages_last_28_days,
  coalesce(activity.messages_28_days_before, 0) AS messages_28_days_before,
  activity.last_message_at,
  date_diff('microsecond', activity.last_message_at, as_of) / 86400e6 AS days_silent,
  replied.last_staff_reply_at,
  coalesce(concerned.open_topics, 0) AS open_topics,
  coalesce(concerned.urgent_topics, 0) AS urgent_topics,
  coalesce(unanswered.unanswered_groups, 0) AS unanswered_groups,
  coalesce(talking.open_conversations, 0) AS open_conversations,
  coalesce(waiting.waiting_conversations, 0) AS waiting_conversations,
  waiting.longest_wait_hours,
  CASE
    WHEN coalesce(activity.messages_last_28_days, 0) = 0 THEN 'silent'
    WHEN activity.messages_28_days_before = 0 THEN 'new'
    WHEN activity.messages_last_28_days >= activity.messages_28_days_before * 1.5 THEN 'growing'
    WHEN activity.messages_last_28_days * 1.5 <= activity.messages_28_days_before THEN 'fading'
    ELSE 'steady'
  END AS trend,
  company_attributes.* EXCLUDE (company_id)
FROM companies AS c
CROSS JOIN data_as_of
LEFT JOIN activity ON activity.company_id = c.id
LEFT JOIN replied ON replied.company_id = c.id
LEFT JOIN unanswered ON unanswered.company_id = c.id
LEFT JOIN talking ON talking.company_id = c.id
LEFT JOIN waiting ON waiting.company_id = c.id
LEFT JOIN concerned ON concerned.company_id = c.id
LEFT JOIN company_attributes ON company_attributes.company_id = c.id
WHERE c.deleted_at IS NULL AND NOT coalesce(c.is_org_company, false);

COMMENT ON VIEW company_health IS 'How active is each company: how much do its people write, more or less than before, and what are they waiting for? One row per company, without our own and deleted ones. Bots are not counted.';
COMMENT ON COLUMN company_health.company_id IS 'The company (companies.id).';
COMMENT ON COLUMN company_health.name IS 'Name of the company.';
COMMENT ON COLUMN company_health.primary_domain IS 'Main domain. NULL when unknown.';
COMMENT ON COLUMN company_health.is_vip IS 'True for a company marked as VIP.';
COMMENT ON COLUMN company_health.people IS 'Its people, as the service counts them.';
COMMENT ON COLUMN company_health.people_who_wrote IS 'Different people of the company who wrote a message.';
COMMENT ON COLUMN company_health.messages IS 'Messages that they wrote.';
COMMENT ON COLUMN company_health.messages_last_28_days IS 'Messages in the 28 days up to data_as_of.as_of.';
COMMENT ON COLUMN company_health.messages_28_days_before IS 'Messages in the 28 days before those.';
COMMENT ON COLUMN company_health.last_message_at IS 'When one of them last wrote (UTC). NULL when nobody ever wrote.';
COMMENT ON COLUMN company_health.days_silent IS 'Days from last_message_at to data_as_of.as_of, with fractions. NULL when nobody ever wrote.';
COMMENT ON COLUMN company_health.last_staff_reply_at IS 'Latest message of staff in the conversations in which its people wrote, without internal notes (UTC). NULL when there is none.';
COMMENT ON COLUMN company_health.open_topics IS 'Open topics (backlog) in which its people take part.';
COMMENT ON COLUMN company_health.urgent_topics IS 'Open topics with priority high or very_high.';
COMMENT ON COLUMN company_health.unanswered_groups IS 'Conversations in which its people wrote and staff never answered (unanswered_groups).';
COMMENT ON COLUMN company_health.open_conversations IS 'Conversations of open topics in which its people wrote.';
COMMENT ON COLUMN company_health.waiting_conversations IS 'Conversations in which one of its people wrote last (awaiting_reply).';
COMMENT ON COLUMN company_health.longest_wait_hours IS 'Hours for which the first of them has waited, with fractions. NULL when none waits.';
COMMENT ON COLUMN company_health.trend IS 'The last 28 days compared with the 28 before: growing to 1.5 times or more, fading to two thirds or less, otherwise steady. silent: no message in the last 28 days. new: none in the 28 before.';
