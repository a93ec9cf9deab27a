-- Reads only what shows a real change: histories, messages and tombstones. A row's run_id does not show one: it also
-- moves when an unchanged answer is seen again after a newer one about the same entity, and that of a message when it gets a
-- reaction. So a message is new, edited or deleted when that was after the sync before the last began, or after all that was
-- there before, where the clocks of service and machine differ.
CREATE OR REPLACE VIEW recent_changes AS
WITH last_run AS (
  SELECT run_id, started_at, lag(started_at) OVER (ORDER BY run_id) AS started_before
  FROM ops.runs
  WHERE command = 'sync'
  ORDER BY run_id DESC
  LIMIT 1
),
earlier AS (
  SELECT
    least(
      any_value(last_run.started_before),
      max(greatest(messages.created_at, messages.edited_at, messages.deleted_at))
    ) AS ended_at
  FROM last_run
  LEFT JOIN messages ON messages.run_id < last_run.run_id
),
written AS (
  SELECT
    'topic' AS entity_type,
    topic_groups.topic_id AS entity_id,
    topics.title AS name,
    CASE
      WHEN messages.deleted_at >= coalesce(earlier.ended_at, '-infinity') THEN 'messages deleted'
      WHEN messages.edited_at >= coalesce(earlier.ended_at, '-infinity') THEN 'messages edited'
      WHEN messages.created_at < earlier.ended_at THEN 'older messages'
      ELSE 'messages'
    END AS change,
    count(*)::VARCHAR AS details,
    max(coalesce(messages.deleted_at, messages.edited_at, messages.created_at)) AS changed_at,
    NULL AS changed_by
  FROM messages
  JOIN last_run ON messages.run_id >= last_run.run_id
  CROSS JOIN earlier
  JOIN topic_groups ON topic_groups.group_id = messages.group_id
  LEFT JOIN topics ON topics.id = topic_groups.topic_id
  GROUP BY ALL
),
changed AS (
  SELECT
    entity_type,
    entity_id,
    name,
    CASE
      WHEN source = 'tombstones' AND bool_or(field = 'merged_into_id') THEN 'merged'
      WHEN source = 'tombstones' THEN 'gone'
      WHEN bool_or(field = 'created_at') THEN 'created'
      WHEN bool_or(field = 'deleted_at') THEN 'deleted'
      ELSE 'updated'
    END AS change,
    CASE change
      WHEN 'merged' THEN 'into ' || any_value(new_value) FILTER (field = 'merged_into_id')
      WHEN 'gone' THEN any_value(new_value) FILTER (field = 'deleted_reason')
      WHEN 'updated' THEN string_agg(
        concat(field, ': ', coalesce(old_value, 'nothing'), ' -> ', coalesce(new_value, 'nothing')), ', ' ORDER BY field
      )
    END AS details,
    changed_at,
    changed_by
  FROM field_changes
  CROSS JOIN last_run
  WHERE (source = 'history' AND field_changes.run_id >= last_run.run_id)
    OR (source = 'tombstones' AND changed_at >= last_run.started_at)
  GROUP BY entity_type, entity_id, name, source, history_id, changed_at, changed_by
)
FROM changed
UNION ALL
FROM written;

COMMENT ON VIEW recent_changes IS 'What changed since the run before the last sync? One row per recorded change that the last sync (and any push since) brought, per topic with messages that are new or changed, and per entity that the sync found deleted. After the first sync that is everything.';
COMMENT ON COLUMN recent_changes.entity_type IS 'What changed: topic, company or person.';
COMMENT ON COLUMN recent_changes.entity_id IS 'Its id (topics.id, companies.id or people.id).';
COMMENT ON COLUMN recent_changes.name IS 'Its title or name. NULL when unknown.';
COMMENT ON COLUMN recent_changes.change IS 'created, updated or deleted (recorded in its history), messages, messages edited, messages deleted or older messages (in its conversations; the last are those that were written before and fetched now, or that changed otherwise, as by a reaction), gone (deleted) or merged (found by the sync).';
COMMENT ON COLUMN recent_changes.details IS 'For an update: each field with its value before and after. For messages: how many. For a merge: the target. For gone: the reason. NULL when there is nothing to add.';
COMMENT ON COLUMN recent_changes.changed_at IS 'When it changed (UTC); for gone, when the sync found it.';
COMMENT ON COLUMN recent_changes.changed_by IS 'Who requested the change here, else the name of the user, else agent or system. NULL where it is not recorded.';
