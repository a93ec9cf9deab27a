CREATE OR REPLACE VIEW response_times AS
SELECT
  date_trunc('month', turns.began_at AT TIME ZONE 'UTC')::DATE AS month,
  turns.source_name,
  topic.priority,
  topic.priority_rank,
  turns.answer,
  count(*) AS questions,
  count(turns.answered_at) AS answered,
  median(turns.hours_to_answer) AS median_hours,
  avg(turns.hours_to_answer) AS average_hours,
  quantile_cont(turns.hours_to_answer, 0.9) AS p90_hours,
  median(turns.business_hours_to_answer) AS median_business_hours,
  quantile_cont(turns.business_hours_to_answer, 0.9) AS p90_business_hours
FROM conversation_turns AS turns
LEFT JOIN conversation_topics AS topic ON topic.group_id = turns.group_id
WHERE turns.side = 'external'
GROUP BY ALL;

COMMENT ON VIEW response_times IS 'How fast does staff answer? One row per month, source system, priority of the topic, and first or next answer. The turns themselves, for other groups, are in conversation_turns.';
COMMENT ON COLUMN response_times.month IS 'First day of the month in which they asked (UTC).';
COMMENT ON COLUMN response_times.source_name IS 'Source system, e.g. slack.';
COMMENT ON COLUMN response_times.priority IS 'Priority of the conversation''s topic, as in conversation_topics. NULL for a conversation without a topic.';
COMMENT ON COLUMN response_times.priority_rank IS 'That priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN response_times.answer IS 'first: the answer to what opens a conversation; next: the answer to what follows an answer.';
COMMENT ON COLUMN response_times.questions IS 'Turns from outside: one or more messages that staff has to answer.';
COMMENT ON COLUMN response_times.answered IS 'How many of them staff has answered; only these count in the times.';
COMMENT ON COLUMN response_times.median_hours IS 'Median of the hours from the first message of a turn to the answer, with fractions.';
COMMENT ON COLUMN response_times.average_hours IS 'Average of those hours.';
COMMENT ON COLUMN response_times.p90_hours IS 'Hours within which 90 % of them were answered.';
COMMENT ON COLUMN response_times.median_business_hours IS 'Median of the working hours (business_hours) until the answer, with fractions.';
COMMENT ON COLUMN response_times.p90_business_hours IS 'Working hours within which 90 % of them were answered.';
