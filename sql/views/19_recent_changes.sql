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
names AS (
  SELECT 'topic' AS entity_type, id AS entity_id, title AS name FROM topics
  UNION ALL
  SELECT 'company', id, name FROM companies
  UNION ALL
  SELECT 'person', id, display_name FROM people
),
recorded AS (
  SELECT
    history.entity_type,
    history.entity_id,
    CASE history.operation WHEN 'INSERT' THEN 'created' WHEN 'DELETE' THEN 'deleted' ELSE 'updated' END AS change,
    CASE
      WHEN history.operation = 'UPDATE' THEN list_aggregate(
        list_transform(
          list_sort(map_keys(from_json(changes, '"MAP(VARCHAR, JSON)"'))),
          lambda field: concat(
            field, ': ',
            coalesce(from_json(previous_values, '"MAP(VARCHAR, JSON)"')[field] ->> '$', 'nothing'), ' -> ',
            coalesce(from_json(changes, '"MAP(VARCHAR, JSON)"')[field] ->> '$', 'nothing')
          )
        ),
        'string_agg', ', '
      )
    END AS details,
    history.changed_at,
    coalesce(history.user_name, history.changed_by) AS changed_by
  FROM history
  JOIN last_run ON history.run_id >= last_run.run_id
),
written AS (
  SELECT
    'topic' AS entity_type,
    topic_groups.topic_id AS entity_id,
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
  GROUP BY ALL
),
gone AS (
  SELECT 'topic' AS entity_type, id AS entity_id, deleted_at, deleted_reason, merged_into_id FROM topics
  UNION ALL
  SELECT 'company', id, deleted_at, deleted_reason, merged_into_id FROM companies
  UNION ALL
  SELECT 'person', id, deleted_at, deleted_reason, merged_into_id FROM people
),
found_gone AS (
  SELECT
    entity_type,
    entity_id,
    CASE WHEN merged_into_id IS NULL THEN 'gone' ELSE 'merged' END AS change,
    coalesce('into ' || merged_into_id, deleted_reason) AS details,
    deleted_at AS changed_at,
    NULL AS changed_by
  FROM gone
  JOIN last_run ON gone.deleted_at >= last_run.started_at
),
changes AS (
  SELECT * FROM recorded
  UNION ALL
  SELECT * FROM written
  UNION ALL
  SELECT * FROM found_gone
)
SELECT
  changes.entity_type,
  changes.entity_id,
  names.name,
  changes.change,
  changes.details,
  changes.changed_at,
  changes.changed_by
FROM changes
LEFT JOIN names ON names.entity_type = changes.entity_type AND names.entity_id = changes.entity_id;

COMMENT ON VIEW recent_changes IS 'What changed since the run before the last sync? One row per recorded change that the last sync (and any push since) brought, per topic with messages that are new or changed, and per entity that the sync found deleted. After the first sync that is everything.';
COMMENT ON COLUMN recent_changes.entity_type IS 'What changed: topic, company or person.';
COMMENT ON COLUMN recent_changes.entity_id IS 'Its id (topics.id, companies.id or people.id).';
COMMENT ON COLUMN recent_changes.name IS 'Its title or name. NULL when unknown.';
COMMENT ON COLUMN recent_changes.change IS 'created, updated or deleted (recorded in its history), messages, messages edited, messages deleted or older messages (in its conversations; the last are those that were written before and fetched now, or that changed otherwise, as by a reaction), gone (deleted) or merged (found by the sync).';
COMMENT ON COLUMN recent_changes.details IS 'For an update: each field with its value before and after. For messages: how many. For a merge: the target. For gone: the reason. NULL when there is nothing to add.';
COMMENT ON COLUMN recent_changes.changed_at IS 'When it changed (UTC); for gone, when the sync found it.';
COMMENT ON COLUMN recent_changes.changed_by IS 'Name of the user, else agent or system. NULL where it is not recorded.';
