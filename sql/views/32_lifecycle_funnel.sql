CREATE OR REPLACE VIEW lifecycle_funnel AS
WITH existing AS (
  SELECT topic_states.*
  FROM topic_states
  JOIN topics ON topics.id = topic_states.topic_id
  WHERE topics.deleted_at IS NULL
),
moves AS (
  SELECT
    topic_id,
    opened_at,
    valid_from,
    lifecycle_state,
    lag(lifecycle_state) OVER (PARTITION BY topic_id ORDER BY valid_from) IS DISTINCT FROM lifecycle_state AS is_move
  FROM existing
),
stays AS (
  SELECT
    topic_id,
    lifecycle_state,
    date_diff('microsecond', opened_at, valid_from) / 86400e6 AS days_to_reach,
    date_diff('microsecond', valid_from, lead(valid_from) OVER (PARTITION BY topic_id ORDER BY valid_from)) / 86400e6 AS days_in_state,
    row_number() OVER (PARTITION BY topic_id, lifecycle_state ORDER BY valid_from) = 1 AS is_first,
    row_number() OVER (PARTITION BY topic_id ORDER BY valid_from DESC) = 1 AS is_last
  FROM moves
  WHERE is_move
),
-- The first period of an unassessed topic is no move, because NULL is not distinct from nothing before it.
steps AS (
  SELECT 'created' AS step, 0 AS days_to_reach, NULL::DOUBLE AS days_in_state, true AS is_first, false AS is_last
  FROM (SELECT DISTINCT topic_id FROM existing)
  UNION ALL
  SELECT lifecycle_state, days_to_reach, days_in_state, is_first, is_last
  FROM stays
  WHERE lifecycle_state IS NOT NULL
)
SELECT
  list_position(['created', 'unknown', 'open', 'in_progress', 'completed', 'dismissed'], step) AS position,
  step,
  count(*) FILTER (is_first) AS topics,
  count(*) FILTER (is_first) / (SELECT count(DISTINCT topic_id) FROM existing) AS share,
  median(days_to_reach) FILTER (is_first) AS median_days_to_reach,
  median(days_in_state) AS median_days_in_state,
  count(*) FILTER (is_last) AS topics_now
FROM steps
GROUP BY step;

COMMENT ON VIEW lifecycle_funnel IS 'How many topics get how far, and how long does it take? One row per step: created, and each lifecycle state that a topic has had (topic_states). Deleted topics are left out.';
COMMENT ON COLUMN lifecycle_funnel.position IS 'Order of the steps: 1 is created.';
COMMENT ON COLUMN lifecycle_funnel.step IS 'created, or a lifecycle state.';
COMMENT ON COLUMN lifecycle_funnel.topics IS 'Topics that were ever in this state; for created, all.';
COMMENT ON COLUMN lifecycle_funnel.share IS 'Those as a share of all topics, 0 to 1.';
COMMENT ON COLUMN lifecycle_funnel.median_days_to_reach IS 'Median of the days from the creation of a topic until it was first in this state, with fractions.';
COMMENT ON COLUMN lifecycle_funnel.median_days_in_state IS 'Median of the days that a topic stayed in this state until it had another one, with fractions. NULL when none has left it.';
COMMENT ON COLUMN lifecycle_funnel.topics_now IS 'Topics that are in this state now. NULL is no step: these were never assessed, or their assessment was withdrawn.';
