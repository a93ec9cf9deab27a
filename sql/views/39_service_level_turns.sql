CREATE OR REPLACE VIEW service_level_turns AS
WITH asked AS (
  SELECT turns.*, topic.topic_id, topic.priority, topic.priority_rank
  FROM conversation_turns AS turns
  JOIN groups ON groups.id = turns.group_id
  LEFT JOIN conversation_topics AS topic ON topic.group_id = turns.group_id
  WHERE turns.side = 'external'
    -- Nobody is to answer in an archived conversation; what was answered before counts.
    AND (turns.answered_at IS NOT NULL OR groups.archived_at IS NULL)
),
-- The first level that fits, whether it promises this reply or not.
promised AS (
  SELECT
    asked.group_id,
    asked.turn,
    arg_min(
      {'name': level.name, 'hours': if(asked.answer = 'first', level.first_reply_hours, level.next_reply_hours)},
      level.position
    ) AS level
  FROM asked
  JOIN service_levels AS level
    ON coalesce(level.is_vip = asked.is_vip, true)
    AND (level.topic_priorities IS NULL OR coalesce(list_contains(level.topic_priorities, asked.priority), false))
  GROUP BY asked.group_id, asked.turn
),
-- Somebody in two teams counts for the first of them, and the survivor of a merge for those of all.
members AS (
  SELECT coalesce(final_ids.final_id, teams.person_id) AS person_id, arg_min(teams.team, teams.position) AS team
  FROM teams
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = teams.person_id
  GROUP BY 1
),
replied AS (
  SELECT messages.id AS message_id, author.person_id, author.display_name, members.team
  FROM messages
  LEFT JOIN author_people AS author ON author.author_id = messages.author_id
  LEFT JOIN members ON members.person_id = author.person_id
)
SELECT
  asked.group_id,
  asked.turn,
  asked.topic_id,
  asked.priority,
  asked.priority_rank,
  asked.is_vip,
  asked.source_name,
  asked.answer,
  promised.level.name AS service_level,
  promised.level.hours AS hours_allowed,
  asked.business_hours_waited AS hours_waited,
  asked.business_hours_waited > promised.level.hours AS is_breached,
  asked.began_at,
  date_trunc('week', asked.began_at AT TIME ZONE 'UTC')::DATE AS week,
  asked.answered_at,
  replied.person_id AS answered_by_id,
  replied.display_name AS answered_by_name,
  replied.team
FROM asked
JOIN promised ON promised.group_id = asked.group_id AND promised.turn = asked.turn
LEFT JOIN replied ON replied.message_id = asked.answer_message_id
WHERE promised.level.hours IS NOT NULL;

COMMENT ON VIEW service_level_turns IS 'Was each question from outside answered in the time that we promise? One row per question for which a service level promises a reply: none where the setting analysis.serviceLevels is empty (service_levels). Only those that have waited longer than promised are breached: the others are answered or still in time.';
COMMENT ON COLUMN service_level_turns.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN service_level_turns.turn IS 'The turn in it (conversation_turns).';
COMMENT ON COLUMN service_level_turns.topic_id IS 'Its topic (topics.id), as in conversation_topics. NULL when it is in none.';
COMMENT ON COLUMN service_level_turns.priority IS 'Priority of that topic, as it is now. NULL when there is none.';
COMMENT ON COLUMN service_level_turns.priority_rank IS 'That priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN service_level_turns.is_vip IS 'True when one of those who asked, or one of their companies, is marked as VIP.';
COMMENT ON COLUMN service_level_turns.source_name IS 'Source system, e.g. slack.';
COMMENT ON COLUMN service_level_turns.answer IS 'first or next, as in conversation_turns.';
COMMENT ON COLUMN service_level_turns.service_level IS 'The service level that counts (service_levels.name).';
COMMENT ON COLUMN service_level_turns.hours_allowed IS 'Working hours that it allows.';
COMMENT ON COLUMN service_level_turns.hours_waited IS 'Working hours until the reply, with fractions; to data_as_of.as_of while there is none.';
COMMENT ON COLUMN service_level_turns.is_breached IS 'True when hours_waited is more than hours_allowed.';
COMMENT ON COLUMN service_level_turns.began_at IS 'When they asked (UTC).';
COMMENT ON COLUMN service_level_turns.week IS 'Monday of that week (UTC).';
COMMENT ON COLUMN service_level_turns.answered_at IS 'When staff replied (UTC). NULL while it has not.';
COMMENT ON COLUMN service_level_turns.answered_by_id IS 'Who replied (people.id). NULL when unknown, or nobody has.';
COMMENT ON COLUMN service_level_turns.answered_by_name IS 'Name of that person or account.';
COMMENT ON COLUMN service_level_turns.team IS 'Team of that person (teams), the first where there are several. NULL when there is none.';
