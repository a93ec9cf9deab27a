-- The states of a topic over time, from what is known about it, event by event: a record of its history says what changed
-- and what was there before; a version says what a sync found. Each field keeps the value of the last event that has it.
-- Before the first such event it had the value that the next one names as the earlier one.
CREATE OR REPLACE VIEW topic_states AS
WITH
-- A version has the time of the run that found it. A topic that was updated after it was fetched has a wrong time, or the
-- run had: its versions would seem to be older than what they show, and only its history counts.
untimed AS (
  SELECT id AS topic_id
  FROM topics
  WHERE updated_at > synced_at + INTERVAL 1 HOUR
),
recorded AS (
  SELECT
    entity_id AS topic_id,
    changed_at AS happened_at,
    1 AS rank,
    id,
    CASE WHEN json_exists(changes, '$.title') THEN [changes ->> '$.title'] END AS title,
    CASE
      WHEN json_exists(previous_values, '$.title') THEN [previous_values ->> '$.title']
      WHEN json_exists(changes, '$.title') THEN [NULL]
    END AS title_before,
    CASE WHEN json_exists(changes, '$.priority') THEN [changes ->> '$.priority'] END AS priority,
    CASE
      WHEN json_exists(previous_values, '$.priority') THEN [previous_values ->> '$.priority']
      WHEN json_exists(changes, '$.priority') THEN [NULL]
    END AS priority_before,
    CASE WHEN json_exists(changes, '$.lifecycleState') THEN [changes ->> '$.lifecycleState'] END AS lifecycle_state,
    CASE
      WHEN json_exists(previous_values, '$.lifecycleState') THEN [previous_values ->> '$.lifecycleState']
      WHEN json_exists(changes, '$.lifecycleState') THEN [NULL]
    END AS lifecycle_state_before,
    CASE WHEN json_exists(changes, '$.graphStatus') THEN [changes ->> '$.graphStatus'] END AS graph_status,
    CASE
      WHEN json_exists(previous_values, '$.graphStatus') THEN [previous_values ->> '$.graphStatus']
      WHEN json_exists(changes, '$.graphStatus') THEN [NULL]
    END AS graph_status_before,
    CASE
      WHEN json_exists(changes, '$.archivedAt') THEN [raw.moment(changes ->> '$.archivedAt')]
      WHEN json_exists(changes, '$.archived') THEN [if(changes ->> '$.archived' = 'true', changed_at, NULL)]
    END AS archived_at,
    CASE
      WHEN json_exists(previous_values, '$.archivedAt') THEN [raw.moment(previous_values ->> '$.archivedAt')]
      WHEN json_exists(changes, '$.archivedAt') OR json_exists(changes, '$.archived') THEN [NULL::TIMESTAMPTZ]
    END AS archived_at_before,
    -- Any later record shows that it was brought back.
    [if(operation = 'DELETE', changed_at, NULL)] AS deleted_at
  FROM history
  WHERE entity_type = 'topic' AND changed_at IS NOT NULL
),
observed AS (
  SELECT
    topic_id,
    valid_from AS happened_at,
    3 AS rank,
    [title] AS title,
    [title] AS title_before,
    [priority] AS priority,
    [priority] AS priority_before,
    [lifecycle_state] AS lifecycle_state,
    [lifecycle_state] AS lifecycle_state_before,
    -- Only the topic's detail has these and the last one, and it may not have been fetched yet.
    if(graph_status IS NULL, NULL, [graph_status]) AS graph_status,
    if(graph_status IS NULL, NULL, [graph_status]) AS graph_status_before,
    if(graph_status IS NULL AND archived_at IS NULL, NULL, [archived_at]) AS archived_at,
    if(graph_status IS NULL AND archived_at IS NULL, NULL, [archived_at]) AS archived_at_before,
    [deleted_at] AS deleted_at,
    [merged_into_id] AS merged_into_id,
    if(graph_status IS NULL AND detail_unavailable_reason IS NULL, NULL, [detail_unavailable_reason])
      AS detail_unavailable_reason,
    if(graph_status IS NULL AND detail_unavailable_reason IS NULL, NULL, [detail_unavailable_reason])
      AS detail_unavailable_reason_before,
    true AS is_version
  FROM topic_versions
  WHERE topic_id NOT IN (SELECT topic_id FROM untimed)
),
merged AS (
  SELECT
    source_id AS topic_id,
    max(merged_at) AS happened_at,
    2 AS rank,
    [max(merged_at)] AS deleted_at,
    [arg_max(target_id, merged_at)] AS merged_into_id
  FROM merges
  WHERE entity_type = 'topic' AND merged_at IS NOT NULL
  GROUP BY source_id
),
-- The topic itself says since when it is archived or superseded, also where its history cannot be read.
dated AS (
  SELECT
    id AS topic_id,
    if(graph_status = 'superseded', superseded_at, archived_at) AS happened_at,
    2 AS rank,
    [graph_status] AS graph_status,
    ['active'] AS graph_status_before,
    if(archived_at = happened_at, [archived_at], NULL) AS archived_at,
    if(archived_at = happened_at, [NULL::TIMESTAMPTZ], NULL) AS archived_at_before
  FROM topics
  WHERE graph_status IN ('superseded', 'archived') AND happened_at IS NOT NULL
),
-- What it is now, if nothing says when it became so.
present AS (
  SELECT
    id AS topic_id,
    'infinity'::TIMESTAMPTZ AS happened_at,
    9 AS rank,
    [title] AS title_before,
    [priority] AS priority_before,
    [lifecycle_state] AS lifecycle_state_before,
    [graph_status] AS graph_status_before,
    [archived_at] AS archived_at_before,
    [detail_unavailable_reason] AS detail_unavailable_reason_before
  FROM topics
),
created AS (
  SELECT
    topics.id AS topic_id,
    coalesce(
      any_value(topics.created_at),
      min(recorded.happened_at),
      any_value(topics.time_range_start),
      any_value(topics.synced_at)
    ) AS happened_at,
    0 AS rank
  FROM topics
  LEFT JOIN recorded ON recorded.topic_id = topics.id
  GROUP BY topics.id
),
events AS (
  SELECT * FROM created
  UNION ALL BY NAME
  SELECT * FROM recorded
  UNION ALL BY NAME
  SELECT * FROM merged
  UNION ALL BY NAME
  SELECT * FROM dated
  UNION ALL BY NAME
  SELECT * FROM observed
  UNION ALL BY NAME
  SELECT * FROM present
),
filled AS (
  SELECT
    events.topic_id,
    created.happened_at AS opened_at,
    -- Nothing happens to a topic before it exists.
    greatest(events.happened_at, created.happened_at) AS happened_at,
    events.rank,
    events.id,
    coalesce(last_value(title IGNORE NULLS) OVER so_far, first_value(title_before IGNORE NULLS) OVER later)[1] AS title,
    coalesce(last_value(priority IGNORE NULLS) OVER so_far, first_value(priority_before IGNORE NULLS) OVER later)[1] AS priority,
    coalesce(last_value(lifecycle_state IGNORE NULLS) OVER so_far, first_value(lifecycle_state_before IGNORE NULLS) OVER later)[1] AS lifecycle_state,
    coalesce(last_value(graph_status IGNORE NULLS) OVER so_far, first_value(graph_status_before IGNORE NULLS) OVER later)[1] AS graph_status,
    coalesce(last_value(archived_at IGNORE NULLS) OVER so_far, first_value(archived_at_before IGNORE NULLS) OVER later)[1] AS archived_at,
    coalesce(last_value(detail_unavailable_reason IGNORE NULLS) OVER so_far, first_value(detail_unavailable_reason_before IGNORE NULLS) OVER later)[1] AS detail_unavailable_reason,
    (last_value(deleted_at IGNORE NULLS) OVER so_far)[1] AS deleted_at,
    (last_value(merged_into_id IGNORE NULLS) OVER so_far)[1] AS merged_into_id,
    coalesce(bool_or(is_version) OVER so_far, false) AS is_version
  FROM events
  JOIN created ON created.topic_id = events.topic_id
  WINDOW
    so_far AS (
      PARTITION BY events.topic_id ORDER BY greatest(events.happened_at, created.happened_at), events.rank, events.id
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ),
    later AS (
      PARTITION BY events.topic_id ORDER BY greatest(events.happened_at, created.happened_at), events.rank, events.id
      ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    )
),
periods AS (
  SELECT *, lead(happened_at) OVER (PARTITION BY topic_id ORDER BY happened_at, rank, id) AS next_at
  FROM filled
)
SELECT
  topic_id,
  happened_at AS valid_from,
  if(isfinite(next_at), next_at, NULL) AS valid_to,
  title,
  priority,
  list_position(['very_high', 'high', 'default', 'low', 'very_low'], priority) AS priority_rank,
  lifecycle_state,
  graph_status,
  opened_at,
  archived_at,
  deleted_at,
  merged_into_id,
  detail_unavailable_reason,
  deleted_at IS NULL
  AND archived_at IS NULL
  AND merged_into_id IS NULL
  AND coalesce(graph_status, 'active') = 'active'
  AND coalesce(lifecycle_state, 'unknown') NOT IN ('completed', 'dismissed')
  AND detail_unavailable_reason IS DISTINCT FROM 'archived_in_v1_to_v2_migration' AS is_open,
  deleted_at IS NULL
  AND merged_into_id IS NULL
  AND coalesce(graph_status, 'active') <> 'superseded'
  AND coalesce(lifecycle_state, 'unknown') NOT IN ('completed', 'dismissed') AS is_open_or_archived,
  if(is_version, 'versions', 'history') AS based_on
FROM periods
WHERE next_at > happened_at
  -- Without its history, what was before a sync saw it would be guessed from what is.
  AND (is_version OR topic_id IN (SELECT entity_id FROM fetched_histories WHERE entity_type = 'topic'));

COMMENT ON VIEW topic_states IS 'In what state was each topic, and when? One row per topic and period between two events: its creation, a record of its history, a merge, or a version that a sync found. A moment is in one period of a topic: valid_from <= moment AND (valid_to > moment OR valid_to IS NULL); topic_as_of and backlog_as_of choose it. Topics that were merged or deleted before the first sync are not known. Of a topic whose history was not fetched yet (data_as_of.requests_left) there is nothing before the first sync that saw it: it would be guessed.';
COMMENT ON COLUMN topic_states.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN topic_states.valid_from IS 'When the period began (UTC).';
COMMENT ON COLUMN topic_states.valid_to IS 'When it ended (UTC): the valid_from of the next one. NULL for the present state.';
COMMENT ON COLUMN topic_states.title IS 'Short title.';
COMMENT ON COLUMN topic_states.priority IS 'very_low, low, default, high or very_high. NULL when it is unknown.';
COMMENT ON COLUMN topic_states.priority_rank IS 'The priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN topic_states.lifecycle_state IS 'open, in_progress, completed, dismissed or unknown. NULL when it was not assessed.';
COMMENT ON COLUMN topic_states.graph_status IS 'active, superseded or archived. NULL when it is unknown.';
COMMENT ON COLUMN topic_states.opened_at IS 'When the topic was created (UTC); where that is unknown, its first record or the start of its conversations.';
COMMENT ON COLUMN topic_states.archived_at IS 'When it was archived (UTC). NULL when it was not archived.';
COMMENT ON COLUMN topic_states.deleted_at IS 'When it was deleted or merged, or the sync found that (UTC). NULL when it existed.';
COMMENT ON COLUMN topic_states.merged_into_id IS 'Id of the topic that it had been merged into. NULL when it was not merged.';
COMMENT ON COLUMN topic_states.detail_unavailable_reason IS 'Why its detail could not be fetched although it was listed. NULL when it could. Nothing tells since when, before the first sync.';
COMMENT ON COLUMN topic_states.is_open IS 'True when the topic was in the backlog: not deleted, archived, merged, superseded, completed or dismissed. Who archives a topic closes it; is_open_or_archived counts otherwise.';
COMMENT ON COLUMN topic_states.is_open_or_archived IS 'The same, where an archived topic counts as open: it was put away, and nobody has decided.';
COMMENT ON COLUMN topic_states.based_on IS 'versions: a sync had seen the topic by then (topic_versions), and what its history records since is added. history: only the records of the API tell.';
