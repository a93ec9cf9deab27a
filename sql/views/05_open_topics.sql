CREATE OR REPLACE VIEW open_topics AS
SELECT
  id AS topic_id,
  priority,
  priority_rank,
  lifecycle_state
FROM topics
WHERE deleted_at IS NULL
  AND archived_at IS NULL
  AND merged_into_id IS NULL
  AND coalesce(graph_status, 'active') = 'active'
  AND coalesce(lifecycle_state, 'unknown') NOT IN ('completed', 'dismissed')
  -- Archived in the migration: still listed, but 404 by id.
  AND detail_unavailable_reason IS DISTINCT FROM 'archived_in_v1_to_v2_migration';

COMMENT ON VIEW open_topics IS 'Which topics are open? One row per topic of the backlog: not deleted, archived, merged, superseded, completed or dismissed. The view backlog has the same topics with what is known of them.';
COMMENT ON COLUMN open_topics.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN open_topics.priority IS 'very_low, low, default, high or very_high.';
COMMENT ON COLUMN open_topics.priority_rank IS 'The priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN open_topics.lifecycle_state IS 'open, in_progress or unknown. NULL when it was never assessed.';
