CREATE OR REPLACE VIEW backlog_weekly AS
-- What a sync saw after the latest time in the data (data_as_of) is as old as that: nothing is known of later weeks. What
-- began more than ten years before it counts as if it began then: a topic of the year 1 would fill 100,000 weeks.
WITH states AS (
  SELECT
    topic_id,
    priority,
    priority_rank,
    lifecycle_state,
    is_open,
    lag(is_open) OVER (PARTITION BY topic_id ORDER BY valid_from) AS was_open,
    least(greatest(valid_from, as_of - INTERVAL 10 YEAR), as_of) AT TIME ZONE 'UTC' AS valid_from,
    CASE WHEN valid_to IS NOT NULL THEN least(greatest(valid_to, as_of - INTERVAL 10 YEAR), as_of) END AT TIME ZONE 'UTC'
      AS valid_to,
    as_of AT TIME ZONE 'UTC' AS as_of
  FROM topic_states
  CROSS JOIN data_as_of
),
periods AS (
  SELECT
    topic_id,
    priority,
    priority_rank,
    lifecycle_state,
    is_open,
    was_open,
    date_trunc('week', valid_from)::DATE AS first_week,
    -- The last week at whose end it was so.
    CASE
      WHEN valid_to IS NULL THEN greatest(date_trunc('week', valid_from)::DATE, date_trunc('week', as_of)::DATE)
      ELSE date_trunc('week', valid_to)::DATE - 7
    END AS last_week
  FROM states
),
at_week_end AS (
  SELECT
    topic_id,
    unnest(generate_series(first_week::TIMESTAMP, last_week::TIMESTAMP, INTERVAL 7 DAY))::DATE AS week,
    priority,
    priority_rank,
    lifecycle_state,
    is_open
  FROM periods
  WHERE first_week <= last_week
),
moved AS (
  SELECT
    topic_id,
    first_week AS week,
    count(*) FILTER (was_open IS NULL) AS opened,
    count(*) FILTER (is_open AND NOT was_open) AS reopened,
    -- One that was never open, as far as is known, is closed at once.
    count(*) FILTER (NOT is_open AND coalesce(was_open, true)) AS closed
  FROM periods
  WHERE is_open IS DISTINCT FROM was_open
  GROUP BY topic_id, first_week
)
SELECT
  week,
  priority,
  priority_rank,
  lifecycle_state,
  count(*) FILTER (is_open) AS open,
  coalesce(sum(opened), 0)::BIGINT AS new,
  coalesce(sum(reopened), 0)::BIGINT AS reopened,
  coalesce(sum(closed), 0)::BIGINT AS closed
FROM at_week_end
LEFT JOIN moved USING (topic_id, week)
WHERE is_open OR moved.topic_id IS NOT NULL
GROUP BY week, priority, priority_rank, lifecycle_state;

COMMENT ON VIEW backlog_weekly IS 'How does the backlog develop? One row per ISO week (UTC), priority and lifecycle state in which a topic was open or moved; both as they were at the end of the week, or are now for the last one. The first week is ten years before the data. Over all rows of a week, open is open of the week before + new + reopened - closed. Before the first sync it is based on histories (topic_states).';
COMMENT ON COLUMN backlog_weekly.week IS 'Monday of the ISO week (UTC).';
COMMENT ON COLUMN backlog_weekly.priority IS 'Priority at the end of the week. NULL when it is unknown.';
COMMENT ON COLUMN backlog_weekly.priority_rank IS 'The priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN backlog_weekly.lifecycle_state IS 'Lifecycle state at the end of the week. NULL when it was not assessed.';
COMMENT ON COLUMN backlog_weekly.open IS 'Topics that were open at the end of the week, as in backlog.';
COMMENT ON COLUMN backlog_weekly.new IS 'Topics that were created during the week.';
COMMENT ON COLUMN backlog_weekly.reopened IS 'How often such a topic was opened again during the week, after it had been closed.';
COMMENT ON COLUMN backlog_weekly.closed IS 'How often such a topic was closed during the week: completed, dismissed, archived, superseded, merged or deleted.';
