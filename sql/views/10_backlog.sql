CREATE OR REPLACE VIEW backlog AS
WITH taking_part AS (
  SELECT DISTINCT
    topic_people.topic_id,
    coalesce(final_ids.final_id, topic_people.person_id) AS person_id
  FROM topic_people
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = topic_people.person_id
),
reach AS (
  SELECT
    topic_id,
    count(*) FILTER (NOT is_staff) AS people,
    count(DISTINCT company_id) FILTER (NOT is_staff) AS companies,
    count(*) FILTER (NOT is_staff AND is_vip) AS vip_people,
    count(DISTINCT company_id) FILTER (NOT is_staff AND is_company_vip) AS vip_companies,
    count(*) FILTER (is_staff) AS staff
  FROM taking_part
  JOIN person_roles USING (person_id)
  WHERE NOT is_bot
  GROUP BY topic_id
),
activity AS (
  SELECT
    topic_groups.topic_id,
    max(created_at) FILTER (side = 'external') AS last_message_at,
    max(created_at) FILTER (side = 'staff' AND NOT is_internal) AS last_staff_reply_at,
    count(*) FILTER (side = 'external' AND created_at > as_of - INTERVAL 168 HOUR) AS messages_last_7_days,
    count(*) FILTER (
      side = 'external' AND created_at > as_of - INTERVAL 336 HOUR AND created_at <= as_of - INTERVAL 168 HOUR
    ) AS messages_7_days_before
  FROM message_senders
  JOIN topic_groups USING (group_id)
  CROSS JOIN data_as_of
  WHERE side <> 'bot' AND created_at <= as_of
  GROUP BY topic_groups.topic_id
)
SELECT
  t.id AS topic_id,
  t.title,
  t.issue_type,
  t.priority,
  open_topics.priority_rank,
  t.lifecycle_state,
  t.lifecycle_state_confidence,
  coalesce(t.created_at, t.time_range_start) AS opened_at,
  date_diff('microsecond', coalesce(t.created_at, t.time_range_start), as_of) / 86400e6 AS age_days,
  coalesce(reach.people, 0) AS people,
  coalesce(reach.companies, 0) AS companies,
  coalesce(reach.vip_people, 0) AS vip_people,
  coalesce(reach.vip_companies, 0) AS vip_companies,
  coalesce(reach.staff, 0) AS staff,
  t.total_group_count AS conversations,
  t.total_group_count - t.staff_response_group_count AS conversations_without_staff,
  t.message_count AS messages,
  activity.last_message_at,
  activity.last_staff_reply_at,
  coalesce(activity.messages_last_7_days, 0) AS messages_last_7_days,
  coalesce(activity.messages_7_days_before, 0) AS messages_7_days_before,
  coalesce(activity.messages_last_7_days - activity.messages_7_days_before, 0) AS momentum,
  t.sources,
  t.linked_ticket_display_name,
  t.linked_ticket_url,
  t.updated_at,
  topic_attributes.* EXCLUDE (topic_id)
FROM open_topics
JOIN topics AS t ON t.id = open_topics.topic_id
CROSS JOIN data_as_of
LEFT JOIN reach ON reach.topic_id = t.id
LEFT JOIN activity ON activity.topic_id = t.id
LEFT JOIN topic_attributes ON topic_attributes.topic_id = t.id;

COMMENT ON VIEW backlog IS 'What is open, how urgent is it, whom does it affect, and is it growing? One row per open topic: not deleted, archived, merged, superseded, completed or dismissed. Bots are not counted, staff is counted separately.';
COMMENT ON COLUMN backlog.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN backlog.title IS 'Short title.';
COMMENT ON COLUMN backlog.issue_type IS 'Kind of issue as the service derives it, e.g. bug_report. NULL when it has none.';
COMMENT ON COLUMN backlog.priority IS 'very_low, low, default, high or very_high.';
COMMENT ON COLUMN backlog.priority_rank IS 'The priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN backlog.lifecycle_state IS 'open, in_progress or unknown. NULL when it was never assessed.';
COMMENT ON COLUMN backlog.lifecycle_state_confidence IS 'How sure the service is of the lifecycle state. NULL when it does not say.';
COMMENT ON COLUMN backlog.opened_at IS 'When the topic was created (UTC); where that is unknown, the start of its conversations.';
COMMENT ON COLUMN backlog.age_days IS 'Days from opened_at to data_as_of.as_of, with fractions.';
COMMENT ON COLUMN backlog.people IS 'People who take part, without staff and bots.';
COMMENT ON COLUMN backlog.companies IS 'Companies of those people.';
COMMENT ON COLUMN backlog.vip_people IS 'Those people who are marked as VIP.';
COMMENT ON COLUMN backlog.vip_companies IS 'Those companies that are marked as VIP.';
COMMENT ON COLUMN backlog.staff IS 'Our own people who take part.';
COMMENT ON COLUMN backlog.conversations IS 'Conversations, as the service counts them.';
COMMENT ON COLUMN backlog.conversations_without_staff IS 'Conversations without an answer from staff, as the service counts them.';
COMMENT ON COLUMN backlog.messages IS 'Messages, as the service counts them.';
COMMENT ON COLUMN backlog.last_message_at IS 'When somebody other than staff and bots last wrote (UTC). NULL when nobody has, or when the conversations are not fetched yet.';
COMMENT ON COLUMN backlog.last_staff_reply_at IS 'Latest message of staff in its conversations, without internal notes (UTC). NULL when there is none.';
COMMENT ON COLUMN backlog.messages_last_7_days IS 'Messages in the 7 days up to data_as_of.as_of, without staff and bots.';
COMMENT ON COLUMN backlog.messages_7_days_before IS 'Messages in the 7 days before those, without staff and bots.';
COMMENT ON COLUMN backlog.momentum IS 'messages_last_7_days minus messages_7_days_before: positive when the topic grows.';
COMMENT ON COLUMN backlog.sources IS 'Source systems in which the topic comes up.';
COMMENT ON COLUMN backlog.linked_ticket_display_name IS 'Name of the linked ticket. NULL when none is linked.';
COMMENT ON COLUMN backlog.linked_ticket_url IS 'Address of the linked ticket. NULL when none is linked.';
COMMENT ON COLUMN backlog.updated_at IS 'When the topic was last updated (UTC), according to the service.';
