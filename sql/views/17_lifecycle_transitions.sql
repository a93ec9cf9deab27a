CREATE OR REPLACE VIEW lifecycle_transitions AS
WITH recorded AS (
  SELECT
    id,
    entity_id AS topic_id,
    changed_at,
    changed_by,
    user_name,
    row_number() OVER (PARTITION BY entity_id ORDER BY changed_at, id) = 1 AS is_earliest,
    changes ->> '$.lifecycleState' AS to_state,
    -- A record before it that is missing must not stand for what this one says was there.
    CASE
      WHEN json_exists(previous_values, '$.lifecycleState') THEN previous_values ->> '$.lifecycleState'
      ELSE lag(changes ->> '$.lifecycleState') OVER (PARTITION BY entity_id ORDER BY changed_at, id)
    END AS from_state
  FROM history
  WHERE entity_type = 'topic' AND operation <> 'DELETE' AND json_exists(changes, '$.lifecycleState')
)
SELECT
  recorded.id AS history_id,
  recorded.topic_id,
  topics.title,
  recorded.changed_at,
  recorded.changed_by,
  recorded.user_name,
  requests.requested_by,
  requests.requested_reason,
  requests.change_id,
  recorded.from_state,
  recorded.to_state,
  recorded.is_earliest AND recorded.from_state IS NULL AS is_first,
  date_diff(
    'microsecond',
    lag(recorded.changed_at) OVER (PARTITION BY recorded.topic_id ORDER BY recorded.changed_at, recorded.id),
    recorded.changed_at
  ) / 86400e6 AS days_in_from_state
FROM recorded
LEFT JOIN topics ON topics.id = recorded.topic_id
LEFT JOIN history_requests AS requests ON requests.history_id = recorded.id
WHERE recorded.from_state IS DISTINCT FROM recorded.to_state AND topics.deleted_at IS NULL;

COMMENT ON VIEW lifecycle_transitions IS 'How do topics move from open to done, who moves them, and how long does it take? One row per recorded change of a topic''s lifecycle state; deleted topics are left out.';
COMMENT ON COLUMN lifecycle_transitions.history_id IS 'The record (history.id).';
COMMENT ON COLUMN lifecycle_transitions.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN lifecycle_transitions.title IS 'Title of the topic.';
COMMENT ON COLUMN lifecycle_transitions.changed_at IS 'When it was changed (UTC).';
COMMENT ON COLUMN lifecycle_transitions.changed_by IS 'agent (AI), system or user (by hand).';
COMMENT ON COLUMN lifecycle_transitions.user_name IS 'Name of the user who changed it. NULL when it was not a user, and for what came through the API: see requested_by.';
COMMENT ON COLUMN lifecycle_transitions.requested_by IS 'Who requested it here, where it is a change that was queued here and pushed. NULL otherwise, and when nobody was named.';
COMMENT ON COLUMN lifecycle_transitions.requested_reason IS 'Why, as it was given with that request. NULL when none was given.';
COMMENT ON COLUMN lifecycle_transitions.change_id IS 'That change (change_log.change_id). NULL for what was not requested here.';
COMMENT ON COLUMN lifecycle_transitions.from_state IS 'State before. NULL when it was not assessed before, or when that is unknown.';
COMMENT ON COLUMN lifecycle_transitions.to_state IS 'State after. NULL when the assessment was withdrawn.';
COMMENT ON COLUMN lifecycle_transitions.is_first IS 'True for the first value that a topic got: nobody has changed anything.';
COMMENT ON COLUMN lifecycle_transitions.days_in_from_state IS 'Days since the previous transition, with fractions. NULL for the first one.';
