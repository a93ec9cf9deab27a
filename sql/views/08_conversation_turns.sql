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
    lead(created_at) OVER in_order AS answered_at
  FROM edges
  WHERE is_first
  WINDOW in_order AS (PARTITION BY group_id ORDER BY place)
),
-- Working time as seconds on a clock that only runs during working hours: of each moment, the whole weeks before it, the
-- working days of its week before its day, and what its day had by then.
hours AS (
  SELECT
    timezone,
    len(days) AS days_a_week,
    list_transform(range(1, 8), lambda day: len(list_filter(days, lambda other: other < day))) AS days_before,
    list_transform(range(1, 8), lambda day: list_contains(days, day)) AS is_working,
    epoch(opens) AS opens,
    epoch(closes) - epoch(opens) AS length
  FROM business_hours
),
local AS (
  SELECT
    turns.*,
    epoch(began_at AT TIME ZONE hours.timezone) - 345600 AS began,
    -- Until now, where nobody has answered.
    epoch(coalesce(answered_at, as_of) AT TIME ZONE hours.timezone) - 345600 AS answered,
    hours
  FROM turns
  CROSS JOIN hours
  CROSS JOIN data_as_of
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
    floor(answered / 604800) * hours.days_a_week * hours.length
    + hours.days_before[1 + (floor(answered / 86400) % 7)::INTEGER] * hours.length
    + if(
      hours.is_working[1 + (floor(answered / 86400) % 7)::INTEGER],
      least(greatest(answered % 86400 - hours.opens, 0), hours.length),
      0
    )
    - floor(began / 604800) * hours.days_a_week * hours.length
    - hours.days_before[1 + (floor(began / 86400) % 7)::INTEGER] * hours.length
    - if(
      hours.is_working[1 + (floor(began / 86400) % 7)::INTEGER],
      least(greatest(began % 86400 - hours.opens, 0), hours.length),
      0
    )
  ) / 3600 AS business_hours_waited,
  if(answered_at IS NULL, NULL, business_hours_waited) AS business_hours_to_answer,
  messages,
  is_vip,
  first_message_id,
  last_message_id
FROM local;

COMMENT ON VIEW conversation_turns IS 'Who spoke when in a conversation, and how long did the other side take to answer? One row per turn: consecutive messages of one side, external or staff. Bots, internal notes and deleted messages are left out.';
COMMENT ON COLUMN conversation_turns.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN conversation_turns.turn IS 'Number of the turn in its conversation, counting from 1.';
COMMENT ON COLUMN conversation_turns.side IS 'Who speaks: external or staff.';
COMMENT ON COLUMN conversation_turns.answer IS 'first where staff has to answer the first turn from outside, next for a later one. NULL for a turn of staff.';
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
