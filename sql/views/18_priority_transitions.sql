CREATE OR REPLACE VIEW priority_transitions AS
WITH recorded AS (
  SELECT
    id,
    entity_id AS topic_id,
    changed_at,
    changed_by,
    user_name,
    row_number() OVER (PARTITION BY entity_id ORDER BY changed_at, id) = 1 AS is_earliest,
    changes ->> '$.priority' AS to_priority,
    -- A record before it that is missing must not stand for what this one says was there.
    CASE
      WHEN json_exists(previous_values, '$.priority') THEN previous_values ->> '$.priority'
      ELSE lag(changes ->> '$.priority') OVER (PARTITION BY entity_id ORDER BY changed_at, id)
    END AS from_priority
  FROM history
  WHERE entity_type = 'topic' AND operation <> 'DELETE' AND json_exists(changes, '$.priority')
),
ranked AS (
  SELECT
    *,
    list_position(['very_high', 'high', 'default', 'low', 'very_low'], from_priority) AS from_priority_rank,
    list_position(['very_high', 'high', 'default', 'low', 'very_low'], to_priority) AS to_priority_rank
  FROM recorded
)
SELECT
  ranked.id AS history_id,
  ranked.topic_id,
  topics.title,
  ranked.changed_at,
  ranked.changed_by,
  ranked.user_name,
  requests.requested_by,
  requests.requested_reason,
  requests.change_id,
  ranked.from_priority,
  from_priority_rank,
  ranked.to_priority,
  to_priority_rank,
  ranked.is_earliest AND ranked.from_priority IS NULL AS is_first,
  CASE WHEN to_priority_rank < from_priority_rank THEN 'raised' WHEN to_priority_rank > from_priority_rank THEN 'lowered' END AS direction
FROM ranked
LEFT JOIN topics ON topics.id = ranked.topic_id
LEFT JOIN history_requests AS requests ON requests.history_id = ranked.id
WHERE ranked.from_priority IS DISTINCT FROM ranked.to_priority AND topics.deleted_at IS NULL;

COMMENT ON VIEW priority_transitions IS 'Which topics got a higher or lower priority, when and from whom? One row per recorded change of a topic''s priority; deleted topics are left out.';
COMMENT ON COLUMN priority_transitions.history_id IS 'The record (history.id).';
COMMENT ON COLUMN priority_transitions.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN priority_transitions.title IS 'Title of the topic.';
COMMENT ON COLUMN priority_transitions.changed_at IS 'When it was changed (UTC).';
COMMENT ON COLUMN priority_transitions.changed_by IS 'agent (AI), system or user (by hand).';
COMMENT ON COLUMN priority_transitions.user_name IS 'Name of the user who changed it. NULL when it was not a user, and for what came through the API: see requested_by.';
COMMENT ON COLUMN priority_transitions.requested_by IS 'Who requested it here, where it is a change that was queued here and pushed. NULL otherwise, and when nobody was named.';
COMMENT ON COLUMN priority_transitions.requested_reason IS 'Why, as it was given with that request. NULL when none was given.';
COMMENT ON COLUMN priority_transitions.change_id IS 'That change (change_log.change_id). NULL for what was not requested here.';
COMMENT ON COLUMN priority_transitions.from_priority IS 'Priority before. NULL when it is unknown, as for a topic''s first value.';
COMMENT ON COLUMN priority_transitions.from_priority_rank IS 'That priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN priority_transitions.to_priority IS 'Priority after.';
COMMENT ON COLUMN priority_transitions.to_priority_rank IS 'That priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN priority_transitions.is_first IS 'True for the first value that a topic got: nobody has changed anything.';
COMMENT ON COLUMN priority_transitions.direction IS 'raised or lowered. NULL for the first value.';
