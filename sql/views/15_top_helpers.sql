-- A person helps by writing, publicly, in a conversation that somebody else opened from outside.
CREATE OR REPLACE VIEW top_helpers AS
WITH opened AS (
  SELECT
    group_id,
    arg_min(sender_id, (created_at, position, message_id)) AS asker_id,
    min((created_at, position)) AS opened_at
  FROM message_senders
  WHERE side = 'external' AND sender_id IS NOT NULL
  GROUP BY group_id
),
answers AS (
  SELECT
    m.person_id,
    m.group_id,
    opened.asker_id,
    opened.opened_at[1] AS opened_at,
    m.message_id,
    m.created_at,
    row_number() OVER (PARTITION BY m.group_id ORDER BY m.created_at, m.position, m.message_id) = 1 AS is_first
  FROM message_senders AS m
  JOIN opened USING (group_id)
  WHERE m.side <> 'bot'
    AND NOT m.is_internal
    AND m.sender_id <> opened.asker_id
    AND (m.created_at, m.position) >= opened.opened_at
),
thanks AS (
  SELECT message_id, sum(count)::BIGINT AS reactions
  FROM message_reactions
  GROUP BY message_id
)
SELECT
  answers.person_id,
  any_value(person_roles.display_name) AS display_name,
  any_value(person_roles.is_staff) AS is_staff,
  any_value(person_roles.company_id) AS company_id,
  any_value(person_roles.company_name) AS company_name,
  count(DISTINCT answers.group_id) AS conversations_helped,
  count(DISTINCT answers.asker_id) AS people_helped,
  count(*) AS answers,
  count(*) FILTER (is_first) AS first_answers,
  median(date_diff('microsecond', answers.opened_at, answers.created_at) / 60e6) FILTER (is_first) AS median_minutes_to_first_answer,
  coalesce(sum(thanks.reactions), 0)::BIGINT AS reactions,
  max(answers.created_at) AS last_helped_at
FROM answers
JOIN person_roles ON person_roles.person_id = answers.person_id
LEFT JOIN thanks ON thanks.message_id = answers.message_id
GROUP BY answers.person_id;

COMMENT ON VIEW top_helpers IS 'Who helps most? One row per person who answered in a conversation that somebody else opened, staff and community alike (is_staff tells them apart). Bots and internal notes are left out.';
COMMENT ON COLUMN top_helpers.person_id IS 'The person (people.id).';
COMMENT ON COLUMN top_helpers.display_name IS 'Name of the person.';
COMMENT ON COLUMN top_helpers.is_staff IS 'True for one of our own people.';
COMMENT ON COLUMN top_helpers.company_id IS 'The person''s company (companies.id). NULL when there is none.';
COMMENT ON COLUMN top_helpers.company_name IS 'Name of that company.';
COMMENT ON COLUMN top_helpers.conversations_helped IS 'Conversations in which the person answered.';
COMMENT ON COLUMN top_helpers.people_helped IS 'Different people who had opened them.';
COMMENT ON COLUMN top_helpers.answers IS 'Messages that the person wrote in them.';
COMMENT ON COLUMN top_helpers.first_answers IS 'How often the person was the first to answer.';
COMMENT ON COLUMN top_helpers.median_minutes_to_first_answer IS 'Median of the minutes from the opening to those first answers, with fractions. NULL when the person was never the first.';
COMMENT ON COLUMN top_helpers.reactions IS 'Reactions to the person''s answers.';
COMMENT ON COLUMN top_helpers.last_helped_at IS 'When the person last answered (UTC).';
