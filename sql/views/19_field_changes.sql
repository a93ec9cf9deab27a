-- Every change of a field that is known, and who made it: from the history where it has one, which knows the moment and the
-- person; from two versions, where no record of the history says between them what the field became; and from tombstones.
CREATE OR REPLACE VIEW field_changes AS
WITH entities AS (
  SELECT 'topic' AS entity_type, id AS entity_id, title AS name, deleted_at, deleted_reason, merged_into_id FROM topics
  UNION ALL
  SELECT 'company', id, name, deleted_at, deleted_reason, merged_into_id FROM companies
  UNION ALL
  SELECT 'person', id, display_name, deleted_at, deleted_reason, merged_into_id FROM people
),
records AS (
  SELECT
    history.*,
    coalesce(requests.requested_by, history.user_name, history.changed_by) AS by_whom,
    from_json(changes, '"MAP(VARCHAR, JSON)"') AS new_values,
    from_json(previous_values, '"MAP(VARCHAR, JSON)"') AS old_values
  FROM history
  LEFT JOIN history_requests AS requests ON requests.history_id = history.id
),
named AS (
  SELECT *, unnest(map_keys(new_values)) AS api_name
  FROM records
),
recorded AS (
  SELECT
    *,
    -- As the columns are called.
    lower(regexp_replace(api_name, '([a-z0-9])([A-Z])', '\1_\2', 'g')) AS field,
    new_values[api_name] ->> '$' AS new_value,
    CASE
      WHEN list_contains(map_keys(old_values), api_name) THEN old_values[api_name] ->> '$'
      ELSE lag(new_values[api_name] ->> '$') OVER (
        PARTITION BY entity_type, entity_id, api_name ORDER BY changed_at, id
      )
    END AS old_value
  FROM named
),
versions AS (
  SELECT 'topic' AS entity_type, topic_id AS entity_id, valid_from, to_json(topic_versions) AS row_values
  FROM topic_versions
  UNION ALL
  SELECT 'company', company_id, valid_from, to_json(company_versions)
  FROM company_versions
  UNION ALL
  SELECT 'person', person_id, valid_from, to_json(people_versions)
  FROM people_versions
),
successive AS (
  SELECT
    *,
    lag(valid_from) OVER of_entity AS earlier_from,
    lag(row_values) OVER of_entity AS earlier_values
  FROM versions
  WINDOW of_entity AS (PARTITION BY entity_type, entity_id ORDER BY valid_from)
),
fields AS (
  SELECT *, unnest(json_keys(row_values)) AS field
  FROM successive
  WHERE earlier_values IS NOT NULL
),
observed AS (
  SELECT
    *,
    if(ends_with(field, '_at'), strftime((earlier_values ->> field)::TIMESTAMPTZ AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'), earlier_values ->> field) AS old_value,
    if(ends_with(field, '_at'), strftime((row_values ->> field)::TIMESTAMPTZ AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'), row_values ->> field) AS new_value
  FROM fields
  WHERE field NOT IN ('valid_from', 'valid_to', 'run_id', 'deleted_reason', 'priority_rank')
    AND (earlier_values ->> field) IS DISTINCT FROM (row_values ->> field)
    -- The tombstone says it; only versions say that it came back.
    AND (field NOT IN ('deleted_at', 'merged_into_id') OR (row_values ->> field) IS NULL)
    -- Only the topic's detail has these, and it had not been fetched before.
    AND NOT (
      field IN ('graph_status', 'archived_at', 'detail_unavailable_reason')
      AND entity_type = 'topic'
      AND (earlier_values ->> 'graph_status') IS NULL
      AND (earlier_values ->> 'detail_unavailable_reason') IS NULL
    )
),
changes AS (
  SELECT entity_type, entity_id, field, old_value, new_value, changed_at, by_whom, 'history' AS source, id, run_id
  FROM recorded
  WHERE operation = 'UPDATE'
  UNION ALL
  SELECT
    entity_type,
    entity_id,
    CASE operation WHEN 'INSERT' THEN 'created_at' ELSE 'deleted_at' END,
    NULL,
    strftime(changed_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'),
    changed_at,
    by_whom,
    'history',
    id,
    run_id
  FROM records
  WHERE operation IN ('INSERT', 'DELETE')
  UNION ALL
  SELECT entity_type, entity_id, field, old_value, new_value, valid_from, NULL, 'versions', NULL, NULL
  FROM observed
  WHERE NOT EXISTS (
    SELECT 1
    FROM recorded
    WHERE recorded.entity_type = observed.entity_type
      AND recorded.entity_id = observed.entity_id
      AND recorded.field = observed.field
      AND recorded.new_value IS NOT DISTINCT FROM observed.new_value
      -- The clocks of the service and of this machine may differ.
      AND recorded.changed_at > observed.earlier_from - INTERVAL 1 HOUR
      AND recorded.changed_at <= observed.valid_from + INTERVAL 1 HOUR
  )
  UNION ALL
  SELECT entity_type, entity_id, gone.field, NULL, gone.value, deleted_at, NULL, 'tombstones', NULL, NULL
  FROM entities
  CROSS JOIN LATERAL (
    VALUES
      ('deleted_at', strftime(deleted_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')),
      ('deleted_reason', deleted_reason),
      ('merged_into_id', merged_into_id)
  ) AS gone (field, value)
  WHERE deleted_at IS NOT NULL AND gone.value IS NOT NULL
)
SELECT
  changes.entity_type,
  changes.entity_id,
  entities.name,
  changes.field,
  changes.old_value,
  changes.new_value,
  changes.changed_at,
  changes.by_whom AS changed_by,
  changes.source,
  changes.id AS history_id,
  changes.run_id
FROM changes
LEFT JOIN entities ON entities.entity_type = changes.entity_type AND entities.entity_id = changes.entity_id;

COMMENT ON VIEW field_changes IS 'What changed about topics, companies and people, field by field, when, and by whom? One row per change of a field. changes_since sums them up.';
COMMENT ON COLUMN field_changes.entity_type IS 'What changed: topic, company or person.';
COMMENT ON COLUMN field_changes.entity_id IS 'Its id (topics.id, companies.id or people.id).';
COMMENT ON COLUMN field_changes.name IS 'Its title or name, as it is now. NULL when unknown.';
COMMENT ON COLUMN field_changes.field IS 'The column that changed, or the field of the API in snake_case where no column has it; created_at and deleted_at for an entity that was created or deleted.';
COMMENT ON COLUMN field_changes.old_value IS 'The value before, as text. NULL for no value, or when it is unknown.';
COMMENT ON COLUMN field_changes.new_value IS 'The value after, as text. NULL for no value.';
COMMENT ON COLUMN field_changes.changed_at IS 'When it changed, by the history (UTC); for versions and tombstones, when the sync found it.';
COMMENT ON COLUMN field_changes.changed_by IS 'Who requested the change here, else the name of the user, else agent, system or user. NULL where it is not recorded.';
COMMENT ON COLUMN field_changes.source IS 'history (recorded by the API), versions (two syncs saw different values, and the history says nothing of it) or tombstones (the sync found the entity deleted or merged).';
COMMENT ON COLUMN field_changes.history_id IS 'The record (history.id). NULL for versions and tombstones.';
COMMENT ON COLUMN field_changes.run_id IS 'Run that brought the record, or last changed it (ops.runs). NULL for versions and tombstones.';

-- A day, such as '2026-03-31', means its start. A moment is a moment.
CREATE OR REPLACE MACRO changes_since(day) AS TABLE
SELECT
  entity_type,
  entity_id,
  any_value(name) AS name,
  field,
  -- The first of a struct and not of the value, which may be NULL.
  arg_min({value: old_value}, changed_at).value AS old_value,
  arg_max({value: new_value}, changed_at).value AS new_value,
  max(changed_at) AS changed_at,
  arg_max({value: changed_by}, changed_at).value AS changed_by,
  arg_max(source, changed_at) AS source
FROM field_changes
WHERE changed_at >= (
  CASE
    WHEN regexp_full_match(day::VARCHAR, '\s*\d+-\d+-\d+\s*') THEN day::VARCHAR::DATE::VARCHAR || ' 00:00:00+00'
    WHEN regexp_matches(day::VARCHAR, '(Z|[+-][0-9]{2}(:?[0-9]{2})?)$') THEN day::VARCHAR
    ELSE day::VARCHAR || '+00'
  END
)::TIMESTAMPTZ
GROUP BY entity_type, entity_id, field
HAVING arg_min({value: old_value}, changed_at).value IS DISTINCT FROM arg_max({value: new_value}, changed_at).value;

COMMENT ON MACRO TABLE changes_since IS 'What is different since a day (its start in UTC), or since a moment? One row per topic, company or person and field that has another value now: entity_type, entity_id, name, field, old_value (before the first change since then), new_value, and of the last change changed_at, changed_by and source, as in field_changes. A field that was changed and changed back is left out.';
