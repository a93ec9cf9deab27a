CREATE OR REPLACE VIEW service_level_breaches AS
SELECT
  late.group_id,
  groups.title,
  late.topic_id,
  late.priority,
  late.priority_rank,
  late.is_vip,
  late.source_name,
  late.answer,
  late.service_level,
  late.hours_allowed,
  late.hours_waited,
  late.hours_waited - late.hours_allowed AS hours_late,
  late.began_at,
  late.week,
  late.answered_at,
  late.answered_by_id,
  late.answered_by_name,
  late.team
FROM service_level_turns AS late
JOIN groups ON groups.id = late.group_id
WHERE late.is_breached;

COMMENT ON VIEW service_level_breaches IS 'Which questions waited longer for a reply than we promise, or still do? One row per question (service_level_turns); those that still wait have no answered_at. It is empty as well where no service level is set (service_levels is empty): that says nothing.';
COMMENT ON COLUMN service_level_breaches.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN service_level_breaches.title IS 'Title of the conversation. NULL when it has none.';
COMMENT ON COLUMN service_level_breaches.topic_id IS 'Its topic (topics.id). NULL when it is in none.';
COMMENT ON COLUMN service_level_breaches.priority IS 'Priority of that topic, as it is now. NULL when there is none.';
COMMENT ON COLUMN service_level_breaches.priority_rank IS 'That priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN service_level_breaches.is_vip IS 'True when a VIP asked.';
COMMENT ON COLUMN service_level_breaches.source_name IS 'Source system, e.g. slack.';
COMMENT ON COLUMN service_level_breaches.answer IS 'first or next, as in conversation_turns.';
COMMENT ON COLUMN service_level_breaches.service_level IS 'The service level that counts (service_levels.name).';
COMMENT ON COLUMN service_level_breaches.hours_allowed IS 'Working hours that it allows.';
COMMENT ON COLUMN service_level_breaches.hours_waited IS 'Working hours until the reply, or until data_as_of.as_of.';
COMMENT ON COLUMN service_level_breaches.hours_late IS 'Working hours beyond those allowed.';
COMMENT ON COLUMN service_level_breaches.began_at IS 'When they asked (UTC).';
COMMENT ON COLUMN service_level_breaches.week IS 'Monday of that week (UTC).';
COMMENT ON COLUMN service_level_breaches.answered_at IS 'When staff replied (UTC). NULL while it has not.';
COMMENT ON COLUMN service_level_breaches.answered_by_id IS 'Who replied (people.id). NULL when unknown, or nobody has.';
COMMENT ON COLUMN service_level_breaches.answered_by_name IS 'Name of that person or account.';
COMMENT ON COLUMN service_level_breaches.team IS 'Team of that person (teams). NULL when there is none.';
