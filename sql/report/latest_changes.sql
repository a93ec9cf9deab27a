-- The latest changes of priority and state since the date: what was there then, and what is there now. Without first values,
-- which are no decisions.
WITH latest AS (
  SELECT
    changes.entity_id AS topic_id,
    changes.name AS title,
    if(changes.field = 'priority', 'priority', 'state') AS field,
    changes.old_value AS before,
    changes.new_value AS after,
    changes.changed_at,
    changes.changed_by
  FROM changes_since($since::TIMESTAMPTZ) AS changes
  JOIN topics ON topics.id = changes.entity_id AND topics.deleted_at IS NULL
  CROSS JOIN data_as_of
  WHERE changes.entity_type = 'topic'
    AND changes.field IN ('priority', 'lifecycle_state')
    AND changes.old_value IS NOT NULL
    AND changes.changed_at <= data_as_of.as_of
)
SELECT *, (SELECT count(*) FROM latest) AS found
FROM latest
ORDER BY changed_at DESC, topic_id, field
LIMIT 12;
