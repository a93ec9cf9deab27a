-- Two sides take turns in a conversation: each turn of one is the answer to the turn before it. Found by the first and last
-- message of each turn, without grouping: half the time for 1,000,000 messages.
CREATE OR REPLACE VIEW conversation_turns AS
WITH spoken AS (
  SELECT
    group_id,
    message_id,
    created_at,
    side,
    source_name,
    lag(side) OVER in_order IS DISTINCT FROM side AS is_first,
    lead(side) OVER in_order IS DISTINCT FROM side AS is_last,
    row_number() OVER in_order AS place,
    count(*) FILTER (is_vip) OVER (in_order ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS vip_messages
  FROM message_senders
  -- Bots do not answer, and an internal note is not seen by the other side.
  WHERE side <> 'bot' AND NOT is_internal AND created_at IS NOT NULL
  WINDOW in_order AS (PARTITION BY group_id ORDER BY created_at, position, message_id)
),
edges AS (
  SELECT
    *,
    if(is_last, message_id, lead(message_id) OVER in_order) AS last_message_id,
    if(is_last, created_at, lead(created_at) OVER in_order) AS ended_at,
    if(is_last, place, lead(place) OVER in_order) AS last_place,
    coalesce(lag(vip_messages) OVER in_order, 0) AS vip_messages_before,
    if(is_last, vip_messages, lead(vip_messages) OVER in_order) AS vip_messages_after
  FROM spoken
  WHERE is_first OR is_last
  WINDOW in_order AS (PARTITION BY group_id ORDER BY place)
),
turns AS (
  SELECT
    group_id,
    row_number() OVER in_order AS turn,
    side,
    created_at AS began_at,
    message_id AS first_message_id,
    ended_at,
    last_message_id,
    source_name,
    last_place - place + 1 AS messages,
    vip_messages_after > vip_messages_before AS is_vip,
    lead(created_at) OVER in_order AS answered_at,
    lead(message_id) OVER in_order AS answer_message_id
  FROM edges
  WHERE is_first
  WINDOW in_order AS (PARTITION BY group_id ORDER BY place)
),
-- Working hours count within ten years of the data: a message of the year 1 would fill 700,000 days.
counted AS (
  SELECT as_of, as_of - INTERVAL 87600 HOUR AS counts_from, as_of + INTERVAL 87600 HOUR AS counts_to
  FROM data_as_of
),
local AS (
  SELECT
    turns.*,
    -- Until now, where nobody has answered.
    coalesce(answered_at, as_of) AS waited_until,
    (greatest(least(began_at, counts_to), counts_from) AT TIME ZONE timezone)::DATE AS began_on,
    (greatest(least(waited_until, counts_to), counts_from) AT TIME ZONE timezone)::DATE AS waited_on
  FROM turns
  CROSS JOIN business_hours
  CROSS JOIN counted
),
days AS (
  SELECT first_day + unnest(range(last_day - first_day + 1))::INTEGER AS day
  FROM (
    -- In any time zone.
    SELECT
      (greatest(least(min(created_at), as_of), counts_from) AT TIME ZONE 'UTC')::DATE - 1 AS first_day,
      (least(greatest(max(created_at), as_of), counts_to) AT TIME ZONE 'UTC')::DATE + 1 AS last_day
    FROM messages
    CROSS JOIN counted
    GROUP BY as_of, counts_from, counts_to
  )
),
-- Working time of each day in microseconds, from moments and not from what clocks show: an hour is left out or repeated where
-- they change.
opened AS (
  SELECT
    day,
    list_contains(days, isodow(day)) AS is_working,
    epoch_us((day + opens) AT TIME ZONE timezone) AS opened_at,
    if(is_working, greatest(epoch_us((day + closes) AT TIME ZONE timezone) - opened_at, 0), 0) AS length
  FROM days
  CROSS JOIN business_hours
),
working_days AS (
  SELECT
    day,
    opened_at,
    length,
    (sum(length) OVER (ORDER BY day) - length)::BIGINT AS worked_before
  FROM opened
)
SELECT
  group_id,
  turn,
  side,
  -- Sides alternate. The first turn from outside may follow one of staff, who wrote without being asked.
  CASE WHEN side = 'external' THEN if(turn <= 2, 'first', 'next') END AS answer,
  source_name,
  began_at,
  ended_at,
  answered_at,
  date_diff('microsecond', began_at, answered_at) / 3600e6 AS hours_to_answer,
  (
    until_day.worked_before + least(greatest(epoch_us(waited_until) - until_day.opened_at, 0), until_day.length)
    - from_day.worked_before - least(greatest(epoch_us(began_at) - from_day.opened_at, 0), from_day.length)
  ) / 3600e6 AS business_hours_waited,
  if(answered_at IS NULL, NULL, business_hours_waited) AS business_hours_to_answer,
  messages,
  is_vip,
  first_message_id,
  last_message_id,
  answer_message_id
FROM local
LEFT JOIN working_days AS from_day ON from_day.day = began_on
LEFT JOIN working_days AS until_day ON until_day.day = waited_on;

COMMENT ON VIEW conversation_turns IS 'Who spoke when in a conversation, and how long did the other side take to answer? One row per turn: consecutive messages of one side, external or staff. Bots, internal notes and deleted messages are left out.';
COMMENT ON COLUMN conversation_turns.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN conversation_turns.turn IS 'Number of the turn in its conversation, counting from 1.';
COMMENT ON COLUMN conversation_turns.side IS 'Who speaks: external or staff.';
COMMENT ON COLUMN conversation_turns.answer IS 'first where staff has to answer the first turn from outside, next for a later one: the first answer is the first message of staff after the first one from outside, here and in awaiting_reply, unanswered_groups, response_times and service_level_turns. NULL for a turn of staff.';
COMMENT ON COLUMN conversation_turns.source_name IS 'Source system of its first message.';
COMMENT ON COLUMN conversation_turns.began_at IS 'When its first message was written (UTC).';
COMMENT ON COLUMN conversation_turns.ended_at IS 'When its last message was written (UTC).';
COMMENT ON COLUMN conversation_turns.answered_at IS 'When the other side answered (UTC): the began_at of the next turn. NULL for the last turn.';
COMMENT ON COLUMN conversation_turns.hours_to_answer IS 'Hours from began_at to answered_at, with fractions. NULL for the last turn.';
COMMENT ON COLUMN conversation_turns.business_hours_waited IS 'Working hours (business_hours) from began_at to the answer, with fractions; to data_as_of.as_of while nobody has answered.';
COMMENT ON COLUMN conversation_turns.business_hours_to_answer IS 'Working hours (business_hours) from began_at to answered_at, with fractions. NULL for the last turn.';
COMMENT ON COLUMN conversation_turns.messages IS 'Messages in the turn.';
COMMENT ON COLUMN conversation_turns.is_vip IS 'True when one of the people who wrote them, or one of their companies, is marked as VIP.';
COMMENT ON COLUMN conversation_turns.first_message_id IS 'The first message (messages.id).';
COMMENT ON COLUMN conversation_turns.last_message_id IS 'The last message (messages.id).';
COMMENT ON COLUMN conversation_turns.answer_message_id IS 'The first message of the answer (messages.id). NULL for the last turn.';
