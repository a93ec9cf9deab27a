-- The analysts' views for Trino 476, over the tables of a lake: the same answers as the views of signals.duckdb. They are for
-- a namespace of one organization; docs/lake.md says how to run this file, which views are left out, and why.

-- From sql/views/01_data_as_of.sql sha256:80039f8f20a983fe
CREATE OR REPLACE VIEW data_as_of
COMMENT 'How recent are the data? One row; the ages and trends in the other views count back from as_of.'
AS
SELECT
  coalesce(max(latest), (SELECT max(synced_at) FROM topics)) AS as_of,
  (SELECT max(last_sync_at) FROM publications) AS last_sync_at
FROM (
  -- A time after the moment at which it was fetched is wrong, whoever said it, and does not count: a topic of the year 2099
  -- would make every other one look old.
  SELECT max(updated_at) AS latest FROM topics
  WHERE updated_at < TIMESTAMP '9999-12-31 00:00:00 UTC' AND coalesce(updated_at <= synced_at, true)
  UNION ALL
  SELECT max(changed_at) FROM history
  WHERE changed_at < TIMESTAMP '9999-12-31 00:00:00 UTC' AND coalesce(changed_at <= synced_at, true)
  UNION ALL
  SELECT max(created_at) FROM messages WHERE created_at <= synced_at
) AS clocks;

-- From sql/views/02_final_ids.sql sha256:a63b45194a2670b7
CREATE OR REPLACE VIEW final_ids
COMMENT 'Into what was a topic, company or person finally merged, after any number of merges? One row per merged one.'
AS
-- Without recursion, which Trino limits to 10 steps: each one is followed through a map of the merges, at most 20 steps
-- and not back to itself.
WITH named AS (
  SELECT 'topic' AS entity_type, id, merged_into_id, CAST(NULL AS timestamp(6) with time zone) AS merged_at, true AS is_stored
  FROM topics
  UNION ALL
  SELECT 'company', id, merged_into_id, NULL, true FROM companies
  UNION ALL
  SELECT 'person', id, merged_into_id, NULL, true FROM people
  UNION ALL
  SELECT entity_type, source_id, target_id, merged_at, false FROM merges
),
merged AS (
  SELECT
    entity_type,
    id,
    -- Merged before the first sync: only the history of the survivor still has it.
    if(
      bool_or(is_stored),
      max(merged_into_id) FILTER (WHERE is_stored),
      max_by(merged_into_id, ROW(merged_at IS NULL, coalesce(merged_at, TIMESTAMP '1970-01-01 00:00:00 UTC'), merged_into_id))
    ) AS merged_into_id
  FROM named
  GROUP BY entity_type, id
),
targets AS (
  SELECT entity_type, map_agg(id, merged_into_id) AS target_of
  FROM merged
  WHERE merged_into_id IS NOT NULL
  GROUP BY entity_type
)
SELECT
  targets.entity_type,
  merge.id,
  reduce(
    sequence(2, 20),
    merge.merged_into_id,
    (reached, step) -> if(element_at(target_of, reached) <> merge.id, element_at(target_of, reached), reached),
    reached -> reached
  ) AS final_id
FROM targets
CROSS JOIN UNNEST(targets.target_of) AS merge (id, merged_into_id);

-- From sql/views/03_person_roles.sql sha256:e52c23ff24a2e35a
CREATE OR REPLACE VIEW person_roles
COMMENT 'Who is staff, who is a bot, who is a VIP, and whose company is which? One row per person, without merged and deleted ones.'
AS
WITH in_topics AS (
  SELECT
    person_id,
    max_by(display_name, ROW(synced_at, topic_id)) FILTER (WHERE display_name IS NOT NULL) AS display_name,
    max_by(is_staff, ROW(synced_at, topic_id)) FILTER (WHERE is_staff IS NOT NULL) AS is_staff,
    max_by(is_bot, ROW(synced_at, topic_id)) FILTER (WHERE is_bot IS NOT NULL) AS is_bot,
    max_by(is_vip, ROW(synced_at, topic_id)) FILTER (WHERE is_vip IS NOT NULL) AS is_vip,
    max_by(company_id, ROW(synced_at, topic_id)) AS company_id,
    max_by(company_name, ROW(synced_at, topic_id)) AS company_name,
    coalesce(bool_or(company_is_org_company), false) AS is_of_org_company
  FROM topic_people
  GROUP BY person_id
),
known AS (
  SELECT
    coalesce(people.id, in_topics.person_id) AS person_id,
    coalesce(people.display_name, in_topics.display_name) AS display_name,
    coalesce(people.company_id, in_topics.company_id) AS company_id,
    coalesce(people.company_name, in_topics.company_name) AS company_name,
    in_topics.is_staff,
    in_topics.is_bot,
    coalesce(people.is_vip, in_topics.is_vip) AS is_vip,
    in_topics.is_of_org_company
  FROM people
  FULL JOIN in_topics ON in_topics.person_id = people.id
  WHERE people.deleted_at IS NULL
),
followed AS (
  SELECT
    known.person_id,
    known.display_name,
    coalesce(final_ids.final_id, known.company_id) AS company_id,
    known.company_name,
    known.is_staff,
    known.is_bot,
    known.is_vip,
    known.is_of_org_company
  FROM known
  LEFT JOIN final_ids ON final_ids.entity_type = 'company' AND final_ids.id = known.company_id
)
SELECT
  followed.person_id,
  followed.display_name,
  followed.company_id,
  coalesce(companies.name, followed.company_name) AS company_name,
  coalesce(followed.is_staff, companies.is_org_company, followed.is_of_org_company, false) AS is_staff,
  coalesce(followed.is_bot, false) AS is_bot,
  coalesce(followed.is_vip, false) AS is_vip,
  coalesce(companies.is_vip, false) AS is_company_vip
FROM followed
LEFT JOIN companies ON companies.id = followed.company_id;

-- From sql/views/04_author_people.sql sha256:450dd1ac5f3987ad
CREATE OR REPLACE VIEW author_people
COMMENT 'Which person is behind an account that writes messages? One row per author.'
AS
WITH linked AS (
  SELECT
    person_identities.platform,
    person_identities.platform_id,
    coalesce(final_ids.final_id, person_identities.person_id) AS person_id,
    person_roles.display_name,
    person_roles.company_id,
    person_roles.is_staff,
    person_roles.is_bot,
    person_roles.is_vip,
    person_roles.is_company_vip,
    -- If two people have the same account: the one that is not deleted, then the one synced last.
    row_number() OVER (
      PARTITION BY person_identities.platform, person_identities.platform_id
      ORDER BY person_roles.person_id IS NOT NULL DESC, person_identities.synced_at DESC, person_identities.person_id DESC
    ) AS choice
  FROM person_identities
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = person_identities.person_id
  LEFT JOIN person_roles ON person_roles.person_id = coalesce(final_ids.final_id, person_identities.person_id)
)
SELECT
  authors.id AS author_id,
  linked.person_id,
  coalesce(linked.display_name, authors.display_name) AS display_name,
  linked.company_id,
  coalesce(linked.is_staff, false) AS is_staff,
  coalesce(authors.is_bot, false) OR coalesce(linked.is_bot, false) AS is_bot,
  coalesce(linked.is_vip, false) AS is_vip,
  coalesce(linked.is_company_vip, false) AS is_company_vip
FROM authors
LEFT JOIN linked
  ON linked.platform = authors.source_name AND linked.platform_id = authors.source_author_id AND linked.choice = 1;

-- From sql/views/05_message_senders.sql sha256:5f829661b226ead6
CREATE OR REPLACE VIEW message_senders
COMMENT 'Who wrote which message, and on which side? One row per message that was not deleted: the basis of all counts of messages by week, person, company or side.'
AS
SELECT
  messages.id AS message_id,
  messages.group_id,
  messages.created_at,
  messages.position,
  CAST(date_trunc('week', messages.created_at AT TIME ZONE 'UTC') AS date) AS week,
  messages.source_name,
  messages.author_id,
  author_people.person_id,
  coalesce(author_people.person_id, messages.author_id) AS sender_id,
  author_people.company_id,
  CASE
    WHEN author_people.is_bot THEN 'bot'
    WHEN author_people.is_staff OR messages.is_internal THEN 'staff'
    ELSE 'external'
  END AS side,
  coalesce(messages.is_internal, false) AS is_internal,
  coalesce(author_people.is_vip OR author_people.is_company_vip, false) AS is_vip
FROM messages
LEFT JOIN author_people ON author_people.author_id = messages.author_id
WHERE messages.deleted_at IS NULL;

-- From sql/views/06_conversation_topics.sql sha256:573fdce920911773
CREATE OR REPLACE VIEW conversation_topics
COMMENT 'Which topic does a conversation count for? One row per conversation that is in a topic: the most urgent one where there are several, without deleted ones.'
AS
WITH chosen AS (
  SELECT
    topic_groups.group_id,
    min_by(
      topics.id,
      ROW(
        coalesce(nullif(array_position(ARRAY['very_high', 'high', 'default', 'low', 'very_low'], topics.priority), 0), 6),
        topics.id
      )
    ) AS topic_id
  FROM topic_groups
  JOIN topics ON topics.id = topic_groups.topic_id
  WHERE topics.deleted_at IS NULL
  GROUP BY topic_groups.group_id
)
SELECT chosen.group_id, chosen.topic_id, topics.title, topics.priority, topics.lifecycle_state
FROM chosen
JOIN topics ON topics.id = chosen.topic_id;

-- From sql/views/07_business_hours.sql sha256:ce6ddd838ef1c188
CREATE OR REPLACE VIEW business_hours
COMMENT 'When are we at work? One row: the setting analysis.businessHours.'
AS
-- Write your own here (analysis.businessHours): the lake does not have the settings of the worker.
SELECT
  'UTC' AS timezone,
  ARRAY[1, 2, 3, 4, 5] AS days,
  CAST('09:00:00' AS time(6)) AS opens,
  CAST('17:00:00' AS time(6)) AS closes;

-- From sql/views/08_conversation_turns.sql sha256:d9743888f83126b3
CREATE OR REPLACE VIEW conversation_turns
COMMENT 'Who spoke when in a conversation, and how long did the other side take to answer? One row per turn: consecutive messages of one side, external or staff. Bots, internal notes and deleted messages are left out.'
AS
WITH spoken AS (
  SELECT
    group_id,
    message_id,
    created_at,
    side,
    source_name,
    lag(side) OVER in_order IS DISTINCT FROM side AS is_first,
    lead(side) OVER in_order IS DISTINCT FROM side AS is_last,
    row_number() OVER in_order AS place,
    count(CASE WHEN is_vip THEN 1 END) OVER in_order AS vip_messages
  FROM message_senders
  -- Bots do not answer, and an internal note is not seen by the other side.
  WHERE side <> 'bot' AND NOT is_internal AND created_at IS NOT NULL
  WINDOW in_order AS (PARTITION BY group_id ORDER BY created_at, position, message_id)
),
edges AS (
  SELECT
    group_id,
    message_id,
    created_at,
    side,
    source_name,
    is_first,
    place,
    if(is_last, message_id, lead(message_id) OVER in_order) AS last_message_id,
    if(is_last, created_at, lead(created_at) OVER in_order) AS ended_at,
    if(is_last, place, lead(place) OVER in_order) AS last_place,
    coalesce(lag(vip_messages) OVER in_order, 0) AS vip_messages_before,
    if(is_last, vip_messages, lead(vip_messages) OVER in_order) AS vip_messages_after
  FROM spoken
  WHERE is_first OR is_last
  WINDOW in_order AS (PARTITION BY group_id ORDER BY place)
),
turns AS (
  SELECT
    group_id,
    row_number() OVER in_order AS turn,
    side,
    created_at AS began_at,
    message_id AS first_message_id,
    ended_at,
    last_message_id,
    source_name,
    last_place - place + 1 AS messages,
    vip_messages_after > vip_messages_before AS is_vip,
    lead(created_at) OVER in_order AS answered_at
  FROM edges
  WHERE is_first
  WINDOW in_order AS (PARTITION BY group_id ORDER BY place)
),
-- Until now, where nobody has answered.
clocks AS (
  SELECT
    turns.*,
    coalesce(turns.answered_at, data_as_of.as_of) AS waited_until,
    CAST(at_timezone(turns.began_at, timezone) AS date) AS began_on,
    CAST(at_timezone(coalesce(turns.answered_at, data_as_of.as_of), timezone) AS date) AS waited_on
  FROM turns
  CROSS JOIN business_hours
  CROSS JOIN data_as_of
),
-- From 1970 to 2101, as constants: days that are read from a table take 18 stages more, of the 150 that a query has at most.
-- A sequence has at most 10,000 entries.
days AS (
  SELECT date_add('day', 1000 * thousands + ones, DATE '1970-01-01') AS day
  FROM UNNEST(sequence(0, 47)) AS t (thousands)
  CROSS JOIN UNNEST(sequence(0, 999)) AS u (ones)
),
hours AS (
  SELECT
    timezone,
    days AS weekdays,
    date_diff('second', TIME '00:00:00', opens) AS opens,
    date_diff('second', TIME '00:00:00', closes) AS closes
  FROM business_hours
),
-- Working time of each day in seconds, from moments and not from what clocks show: an hour is left out or repeated where
-- they change.
opened AS (
  SELECT
    day,
    contains(weekdays, day_of_week(day)) AS is_working,
    to_unixtime(with_timezone(date_add('second', opens, CAST(day AS timestamp(6))), timezone)) AS opened_at,
    to_unixtime(with_timezone(date_add('second', closes, CAST(day AS timestamp(6))), timezone)) AS closed_at
  FROM days
  CROSS JOIN hours
),
working_days AS (
  SELECT day, opened_at, if(is_working, greatest(closed_at - opened_at, 0), 0) AS length FROM opened
),
worked AS (
  SELECT day, opened_at, length, sum(length) OVER (ORDER BY day) - length AS worked_before
  FROM working_days
),
waits AS (
  SELECT
    clocks.*,
    (
      until_day.worked_before + least(greatest(to_unixtime(waited_until) - until_day.opened_at, 0), until_day.length)
      - from_day.worked_before - least(greatest(to_unixtime(began_at) - from_day.opened_at, 0), from_day.length)
    ) / 3600 AS business_hours_waited
  FROM clocks
  LEFT JOIN worked AS from_day ON from_day.day = clocks.began_on
  LEFT JOIN worked AS until_day ON until_day.day = clocks.waited_on
)
SELECT
  group_id,
  turn,
  side,
  -- Sides alternate. The first turn from outside may follow one of staff, who wrote without being asked.
  CASE WHEN side = 'external' THEN if(turn <= 2, 'first', 'next') END AS answer,
  source_name,
  began_at,
  ended_at,
  answered_at,
  (to_unixtime(answered_at) - to_unixtime(began_at)) / 3600 AS hours_to_answer,
  business_hours_waited,
  if(answered_at IS NULL, NULL, business_hours_waited) AS business_hours_to_answer,
  messages,
  is_vip,
  first_message_id,
  last_message_id
FROM waits;

-- From sql/views/09_open_topics.sql sha256:ae0b6ffc1c4ee3c7
CREATE OR REPLACE VIEW open_topics
COMMENT 'Which topics are open? One row per topic of the backlog: not deleted, archived, merged, superseded, completed or dismissed. The view backlog has the same topics with what is known of them.'
AS
SELECT
  id AS topic_id,
  priority,
  nullif(array_position(ARRAY['very_high', 'high', 'default', 'low', 'very_low'], priority), 0) AS priority_rank,
  lifecycle_state
FROM topics
WHERE deleted_at IS NULL
  AND archived_at IS NULL
  AND merged_into_id IS NULL
  AND coalesce(graph_status, 'active') = 'active'
  AND coalesce(lifecycle_state, 'unknown') NOT IN ('completed', 'dismissed')
  -- Archived in the migration: still listed, but 404 by id.
  AND detail_unavailable_reason IS DISTINCT FROM 'archived_in_v1_to_v2_migration';

-- From sql/views/09_topic_states.sql sha256:c7073a8da237ec25
CREATE OR REPLACE VIEW topic_states
COMMENT 'In what state was each topic, and when? One row per topic and period between two events: its creation, a record of its history, a merge, or a version that a sync found. A moment is in one period of a topic: valid_from <= moment AND (valid_to > moment OR valid_to IS NULL); topic_as_of and backlog_as_of choose it. Topics that were merged or deleted before the first sync are not known.'
AS
WITH
-- A version has the time of the run that found it. A topic that was updated after it was fetched has a wrong time, or the
-- run had: its versions would seem to be older than what they show, and only its history counts.
untimed AS (
  SELECT id AS topic_id
  FROM topics
  WHERE updated_at > synced_at + INTERVAL '1' HOUR
),
-- A field that an event says nothing about is NULL. What it says is in an array: it may say NULL.
fields AS (
  SELECT
    id,
    entity_id AS topic_id,
    changed_at,
    operation,
    changes,
    previous_values,
    json_exists(changes, 'strict $.title') AS has_title,
    json_exists(previous_values, 'strict $.title') AS had_title,
    json_exists(changes, 'strict $.priority') AS has_priority,
    json_exists(previous_values, 'strict $.priority') AS had_priority,
    json_exists(changes, 'strict $.lifecycleState') AS has_lifecycle_state,
    json_exists(previous_values, 'strict $.lifecycleState') AS had_lifecycle_state,
    json_exists(changes, 'strict $.graphStatus') AS has_graph_status,
    json_exists(previous_values, 'strict $.graphStatus') AS had_graph_status,
    json_exists(changes, 'strict $.archivedAt') AS has_archived_at,
    json_exists(previous_values, 'strict $.archivedAt') AS had_archived_at,
    json_extract_scalar(changes, '$.archivedAt') AS archived_text,
    json_extract_scalar(previous_values, '$.archivedAt') AS archived_text_before,
    try_cast(json_extract_scalar(changes, '$.archivedAt') AS double) AS archived_number,
    try_cast(json_extract_scalar(previous_values, '$.archivedAt') AS double) AS archived_number_before,
    json_exists(changes, 'strict $.archived') AS has_archived
  FROM history
  WHERE entity_type = 'topic' AND changed_at IS NOT NULL
),
recorded AS (
  SELECT
    topic_id,
    changed_at AS happened_at,
    id,
    CASE WHEN has_title THEN ARRAY[json_extract_scalar(changes, '$.title')] END AS title,
    CASE
      WHEN had_title THEN ARRAY[json_extract_scalar(previous_values, '$.title')]
      WHEN has_title THEN ARRAY[CAST(NULL AS varchar)]
    END AS title_before,
    CASE WHEN has_priority THEN ARRAY[json_extract_scalar(changes, '$.priority')] END AS priority,
    CASE
      WHEN had_priority THEN ARRAY[json_extract_scalar(previous_values, '$.priority')]
      WHEN has_priority THEN ARRAY[CAST(NULL AS varchar)]
    END AS priority_before,
    CASE WHEN has_lifecycle_state THEN ARRAY[json_extract_scalar(changes, '$.lifecycleState')] END AS lifecycle_state,
    CASE
      WHEN had_lifecycle_state THEN ARRAY[json_extract_scalar(previous_values, '$.lifecycleState')]
      WHEN has_lifecycle_state THEN ARRAY[CAST(NULL AS varchar)]
    END AS lifecycle_state_before,
    CASE WHEN has_graph_status THEN ARRAY[json_extract_scalar(changes, '$.graphStatus')] END AS graph_status,
    CASE
      WHEN had_graph_status THEN ARRAY[json_extract_scalar(previous_values, '$.graphStatus')]
      WHEN has_graph_status THEN ARRAY[CAST(NULL AS varchar)]
    END AS graph_status_before,
    CASE
      -- ISO 8601, or seconds or milliseconds since 1970.
      WHEN has_archived_at THEN ARRAY[
        coalesce(
          from_unixtime(CASE WHEN abs(archived_number) < 1e11 THEN archived_number WHEN abs(archived_number) < 1e14 THEN archived_number / 1000 END, 'UTC'),
          CAST(try(from_iso8601_timestamp_nanos(replace(archived_text, ' ', 'T'))) AS timestamp(6) with time zone),
          try(from_iso8601_timestamp(replace(archived_text, ' ', 'T')))
        )
      ]
      WHEN has_archived THEN ARRAY[if(json_extract_scalar(changes, '$.archived') = 'true', changed_at, NULL)]
    END AS archived_at,
    CASE
      WHEN had_archived_at THEN ARRAY[
        coalesce(
          from_unixtime(CASE WHEN abs(archived_number_before) < 1e11 THEN archived_number_before WHEN abs(archived_number_before) < 1e14 THEN archived_number_before / 1000 END, 'UTC'),
          CAST(try(from_iso8601_timestamp_nanos(replace(archived_text_before, ' ', 'T'))) AS timestamp(6) with time zone),
          try(from_iso8601_timestamp(replace(archived_text_before, ' ', 'T')))
        )
      ]
      WHEN has_archived_at OR has_archived THEN ARRAY[CAST(NULL AS timestamp(6) with time zone)]
    END AS archived_at_before,
    -- Any later record shows that it was brought back.
    ARRAY[if(operation = 'DELETE', changed_at, NULL)] AS deleted_at
  FROM fields
),
merged AS (
  SELECT source_id AS topic_id, max(merged_at) AS happened_at, max_by(target_id, merged_at) AS merged_into_id
  FROM merges
  WHERE entity_type = 'topic' AND merged_at IS NOT NULL
  GROUP BY source_id
),
-- The topic itself says since when it is archived or superseded, also where its history cannot be read.
dated AS (
  SELECT
    id AS topic_id,
    graph_status,
    archived_at,
    if(graph_status = 'superseded', superseded_at, archived_at) AS happened_at
  FROM topics
  WHERE graph_status IN ('superseded', 'archived')
),
created AS (
  SELECT
    topics.id AS topic_id,
    coalesce(
      max(topics.created_at),
      min(recorded.happened_at),
      max(topics.time_range_start),
      max(topics.synced_at)
    ) AS happened_at
  FROM topics
  LEFT JOIN recorded ON recorded.topic_id = topics.id
  GROUP BY topics.id
),
events AS (
  SELECT
    topic_id,
    happened_at,
    0 AS rank,
    CAST(NULL AS varchar) AS id,
    CAST(NULL AS array(varchar)) AS title,
    CAST(NULL AS array(varchar)) AS title_before,
    CAST(NULL AS array(varchar)) AS priority,
    CAST(NULL AS array(varchar)) AS priority_before,
    CAST(NULL AS array(varchar)) AS lifecycle_state,
    CAST(NULL AS array(varchar)) AS lifecycle_state_before,
    CAST(NULL AS array(varchar)) AS graph_status,
    CAST(NULL AS array(varchar)) AS graph_status_before,
    CAST(NULL AS array(timestamp(6) with time zone)) AS archived_at,
    CAST(NULL AS array(timestamp(6) with time zone)) AS archived_at_before,
    CAST(NULL AS array(varchar)) AS detail_unavailable_reason,
    CAST(NULL AS array(varchar)) AS detail_unavailable_reason_before,
    CAST(NULL AS array(timestamp(6) with time zone)) AS deleted_at,
    CAST(NULL AS array(varchar)) AS merged_into_id,
    CAST(NULL AS boolean) AS is_version
  FROM created
  UNION ALL
  SELECT
    topic_id,
    happened_at,
    1,
    id,
    title,
    title_before,
    priority,
    priority_before,
    lifecycle_state,
    lifecycle_state_before,
    graph_status,
    graph_status_before,
    archived_at,
    archived_at_before,
    NULL,
    NULL,
    deleted_at,
    NULL,
    NULL
  FROM recorded
  UNION ALL
  SELECT
    topic_id,
    happened_at,
    2,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    ARRAY[happened_at],
    ARRAY[merged_into_id],
    NULL
  FROM merged
  UNION ALL
  SELECT
    topic_id,
    happened_at,
    2,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    ARRAY[graph_status],
    ARRAY[CAST('active' AS varchar)],
    if(archived_at = happened_at, ARRAY[archived_at], NULL),
    if(archived_at = happened_at, ARRAY[CAST(NULL AS timestamp(6) with time zone)], NULL),
    NULL, NULL, NULL, NULL, NULL
  FROM dated
  WHERE happened_at IS NOT NULL
  UNION ALL
  SELECT
    topic_id,
    valid_from,
    3,
    NULL,
    ARRAY[title],
    ARRAY[title],
    ARRAY[priority],
    ARRAY[priority],
    ARRAY[lifecycle_state],
    ARRAY[lifecycle_state],
    -- Only the detail of the topic has these and the last one, and it may not have been fetched yet.
    if(graph_status IS NULL, NULL, ARRAY[graph_status]),
    if(graph_status IS NULL, NULL, ARRAY[graph_status]),
    if(graph_status IS NULL AND archived_at IS NULL, NULL, ARRAY[archived_at]),
    if(graph_status IS NULL AND archived_at IS NULL, NULL, ARRAY[archived_at]),
    if(graph_status IS NULL AND detail_unavailable_reason IS NULL, NULL, ARRAY[detail_unavailable_reason]),
    if(graph_status IS NULL AND detail_unavailable_reason IS NULL, NULL, ARRAY[detail_unavailable_reason]),
    ARRAY[deleted_at],
    ARRAY[merged_into_id],
    true
  FROM topic_versions
  WHERE topic_id NOT IN (SELECT topic_id FROM untimed)
  UNION ALL
  -- What it is now, if nothing says when it became so: after everything else.
  SELECT
    id,
    TIMESTAMP '9999-12-31 00:00:00 UTC',
    9,
    NULL,
    NULL,
    ARRAY[title],
    NULL,
    ARRAY[priority],
    NULL,
    ARRAY[lifecycle_state],
    NULL,
    ARRAY[graph_status],
    NULL,
    ARRAY[archived_at],
    NULL,
    ARRAY[detail_unavailable_reason],
    NULL, NULL, NULL
  FROM topics
),
ordered AS (
  SELECT
    events.topic_id,
    created.happened_at AS opened_at,
    -- Nothing happens to a topic before it exists.
    greatest(events.happened_at, created.happened_at) AS happened_at,
    row_number() OVER (
      PARTITION BY events.topic_id
      ORDER BY greatest(events.happened_at, created.happened_at), events.rank, events.id NULLS LAST
    ) AS step,
    events.title,
    events.title_before,
    events.priority,
    events.priority_before,
    events.lifecycle_state,
    events.lifecycle_state_before,
    events.graph_status,
    events.graph_status_before,
    events.archived_at,
    events.archived_at_before,
    events.detail_unavailable_reason,
    events.detail_unavailable_reason_before,
    events.deleted_at,
    events.merged_into_id,
    events.is_version
  FROM events
  JOIN created ON created.topic_id = events.topic_id
),
-- Each field keeps the value of the last event that has it. Before the first such event it had the value that the next one
-- names as the earlier one.
filled AS (
  SELECT
    topic_id,
    opened_at,
    happened_at,
    coalesce(
      last_value(title) IGNORE NULLS OVER so_far,
      first_value(title_before) IGNORE NULLS OVER later
    ) AS title,
    coalesce(
      last_value(priority) IGNORE NULLS OVER so_far,
      first_value(priority_before) IGNORE NULLS OVER later
    ) AS priority,
    coalesce(
      last_value(lifecycle_state) IGNORE NULLS OVER so_far,
      first_value(lifecycle_state_before) IGNORE NULLS OVER later
    ) AS lifecycle_state,
    coalesce(
      last_value(graph_status) IGNORE NULLS OVER so_far,
      first_value(graph_status_before) IGNORE NULLS OVER later
    ) AS graph_status,
    coalesce(
      last_value(archived_at) IGNORE NULLS OVER so_far,
      first_value(archived_at_before) IGNORE NULLS OVER later
    ) AS archived_at,
    coalesce(
      last_value(detail_unavailable_reason) IGNORE NULLS OVER so_far,
      first_value(detail_unavailable_reason_before) IGNORE NULLS OVER later
    ) AS detail_unavailable_reason,
    last_value(deleted_at) IGNORE NULLS OVER so_far AS deleted_at,
    last_value(merged_into_id) IGNORE NULLS OVER so_far AS merged_into_id,
    coalesce(bool_or(is_version) OVER so_far, false) AS is_version,
    lead(happened_at) OVER so_far AS next_at
  FROM ordered
  WINDOW
    so_far AS (PARTITION BY topic_id ORDER BY step),
    later AS (PARTITION BY topic_id ORDER BY step ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
),
periods AS (
  SELECT
    topic_id,
    opened_at,
    happened_at,
    if(next_at < TIMESTAMP '9999-12-31 00:00:00 UTC', next_at, NULL) AS valid_to,
    title[1] AS title,
    priority[1] AS priority,
    lifecycle_state[1] AS lifecycle_state,
    graph_status[1] AS graph_status,
    archived_at[1] AS archived_at,
    detail_unavailable_reason[1] AS detail_unavailable_reason,
    deleted_at[1] AS deleted_at,
    merged_into_id[1] AS merged_into_id,
    is_version
  FROM filled
  WHERE next_at > happened_at
)
SELECT
  topic_id,
  happened_at AS valid_from,
  valid_to,
  title,
  priority,
  nullif(array_position(ARRAY['very_high', 'high', 'default', 'low', 'very_low'], priority), 0) AS priority_rank,
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
FROM periods;

-- From sql/views/10_backlog.sql sha256:e4d9cae9599f6c4d
CREATE OR REPLACE VIEW backlog
COMMENT 'What is open, how urgent is it, whom does it affect, and is it growing? One row per open topic: not deleted, archived, merged, superseded, completed or dismissed. Bots are not counted, staff is counted separately.'
AS
WITH taking_part AS (
  SELECT DISTINCT
    topic_people.topic_id,
    coalesce(final_ids.final_id, topic_people.person_id) AS person_id
  FROM topic_people
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = topic_people.person_id
),
reach AS (
  SELECT
    taking_part.topic_id,
    count(*) FILTER (WHERE NOT is_staff) AS people,
    count(DISTINCT company_id) FILTER (WHERE NOT is_staff) AS companies,
    count(*) FILTER (WHERE NOT is_staff AND is_vip) AS vip_people,
    count(DISTINCT company_id) FILTER (WHERE NOT is_staff AND is_company_vip) AS vip_companies,
    count(*) FILTER (WHERE is_staff) AS staff
  FROM taking_part
  JOIN person_roles ON person_roles.person_id = taking_part.person_id
  WHERE NOT is_bot
  GROUP BY taking_part.topic_id
),
activity AS (
  SELECT
    topic_groups.topic_id,
    max(message_senders.created_at) FILTER (WHERE side = 'external') AS last_message_at,
    max(message_senders.created_at) FILTER (WHERE side = 'staff' AND NOT is_internal) AS last_staff_reply_at,
    count(*) FILTER (WHERE side = 'external' AND message_senders.created_at > as_of - INTERVAL '7' DAY) AS messages_last_7_days,
    count(*) FILTER (WHERE side = 'external' AND message_senders.created_at > as_of - INTERVAL '14' DAY AND message_senders.created_at <= as_of - INTERVAL '7' DAY)
      AS messages_7_days_before
  FROM message_senders
  JOIN topic_groups ON topic_groups.group_id = message_senders.group_id
  CROSS JOIN data_as_of
  WHERE side <> 'bot' AND message_senders.created_at <= as_of
  GROUP BY topic_groups.topic_id
)
SELECT
  t.id AS topic_id,
  t.title,
  t.issue_type,
  t.priority,
  open_topics.priority_rank,
  t.lifecycle_state,
  t.lifecycle_state_confidence,
  coalesce(t.created_at, t.time_range_start) AS opened_at,
  (to_unixtime(as_of) - to_unixtime(coalesce(t.created_at, t.time_range_start))) / 86400 AS age_days,
  coalesce(reach.people, 0) AS people,
  coalesce(reach.companies, 0) AS companies,
  coalesce(reach.vip_people, 0) AS vip_people,
  coalesce(reach.vip_companies, 0) AS vip_companies,
  coalesce(reach.staff, 0) AS staff,
  t.total_group_count AS conversations,
  t.total_group_count - t.staff_response_group_count AS conversations_without_staff,
  t.message_count AS messages,
  activity.last_message_at,
  activity.last_staff_reply_at,
  coalesce(activity.messages_last_7_days, 0) AS messages_last_7_days,
  coalesce(activity.messages_7_days_before, 0) AS messages_7_days_before,
  coalesce(activity.messages_last_7_days - activity.messages_7_days_before, 0) AS momentum,
  t.sources,
  t.linked_ticket_display_name,
  t.linked_ticket_url,
  t.updated_at
FROM open_topics
JOIN topics AS t ON t.id = open_topics.topic_id
CROSS JOIN data_as_of
LEFT JOIN reach ON reach.topic_id = t.id
LEFT JOIN activity ON activity.topic_id = t.id;

-- From sql/views/11_topic_weekly_activity.sql sha256:19bef3946c249f4a
CREATE OR REPLACE VIEW topic_weekly_activity
COMMENT 'How many messages did a topic get each week, and from how many people? One row per topic and ISO week (UTC) with any message; counted from the messages themselves.'
AS
SELECT
  topics.id AS topic_id,
  topics.title,
  message_senders.week,
  count(*) FILTER (WHERE side = 'external') AS messages,
  count(DISTINCT sender_id) FILTER (WHERE side = 'external') AS people,
  count(DISTINCT company_id) FILTER (WHERE side = 'external') AS companies,
  count(DISTINCT message_senders.group_id) AS conversations,
  count(*) FILTER (WHERE side = 'staff') AS staff_messages,
  count(*) FILTER (WHERE side = 'bot') AS bot_messages
FROM message_senders
JOIN topic_groups ON topic_groups.group_id = message_senders.group_id
JOIN topics ON topics.id = topic_groups.topic_id
WHERE topics.deleted_at IS NULL AND message_senders.week IS NOT NULL
GROUP BY topics.id, topics.title, message_senders.week;

-- From sql/views/12_company_weekly_activity.sql sha256:8a3f536d7f2b3e8a
CREATE OR REPLACE VIEW company_weekly_activity
COMMENT 'How much did a company''s people write each week? One row per company and ISO week (UTC) in which they wrote; counted from the messages themselves, without staff and bots.'
AS
SELECT
  companies.id AS company_id,
  companies.name,
  message_senders.week,
  count(*) AS messages,
  count(DISTINCT sender_id) AS people,
  count(DISTINCT message_senders.group_id) AS conversations
FROM message_senders
JOIN companies ON companies.id = message_senders.company_id
WHERE side = 'external' AND companies.deleted_at IS NULL AND message_senders.week IS NOT NULL
GROUP BY companies.id, companies.name, message_senders.week;

-- From sql/views/13_unanswered_groups.sql sha256:464e8bede837cd43
CREATE OR REPLACE VIEW unanswered_groups
COMMENT 'Who has never got an answer? One row per conversation in which somebody from outside wrote and staff never answered. Those who were answered and wrote again are in awaiting_reply. Archived conversations are left out. Messages of bots and internal notes do not count as answers.'
AS
WITH opened AS (
  SELECT
    message_senders.*,
    min(CASE WHEN side = 'external' THEN created_at END) OVER (PARTITION BY group_id) AS opened_at,
    first_value(CASE WHEN side = 'external' THEN position END) IGNORE NULLS OVER (
      PARTITION BY group_id ORDER BY created_at NULLS LAST, position, message_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS opened_position,
    first_value(CASE WHEN side = 'external' THEN sender_id END) IGNORE NULLS OVER (
      PARTITION BY group_id ORDER BY created_at NULLS LAST, position, message_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS asker_id,
    first_value(CASE WHEN side = 'external' THEN message_id END) IGNORE NULLS OVER (
      PARTITION BY group_id ORDER BY created_at NULLS LAST, position, message_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS first_message_id
  FROM message_senders
),
unanswered AS (
  SELECT
    group_id,
    max(opened_at) AS opened_at,
    max(created_at) FILTER (WHERE side = 'external') AS last_message_at,
    count(*) FILTER (WHERE side = 'external') AS messages,
    count(DISTINCT sender_id) FILTER (WHERE side = 'external') AS people,
    count(DISTINCT company_id) FILTER (WHERE side = 'external') AS companies,
    coalesce(bool_or(is_vip) FILTER (WHERE side = 'external'), false) AS is_vip,
    count(*) FILTER (WHERE is_internal) AS internal_notes,
    count(*) FILTER (WHERE side = 'external' AND sender_id <> asker_id) AS community_answers,
    max(first_message_id) AS first_message_id
  FROM opened
  GROUP BY group_id
  -- An internal note is not an answer, and neither is a message of staff before the first one from outside.
  HAVING count(*) FILTER (WHERE side = 'external') > 0
    AND NOT coalesce(
      bool_or(
        side = 'staff' AND NOT is_internal
        -- A message without a time comes last, as in DuckDB.
        AND (
          created_at > opened_at
          OR created_at IS NULL AND opened_at IS NOT NULL
          OR created_at IS NOT DISTINCT FROM opened_at AND position >= opened_position
        )
      ),
      false
    )
)
SELECT
  unanswered.group_id,
  groups.title,
  topic.topic_id,
  topic.title AS topic_title,
  topic.priority AS topic_priority,
  topic.lifecycle_state AS topic_lifecycle_state,
  unanswered.opened_at,
  unanswered.last_message_at,
  (to_unixtime(as_of) - to_unixtime(unanswered.opened_at)) / 3600 AS waiting_hours,
  unanswered.messages,
  unanswered.people,
  unanswered.companies,
  unanswered.is_vip,
  unanswered.community_answers,
  unanswered.internal_notes,
  messages.source_name,
  messages.source_url
FROM unanswered
CROSS JOIN data_as_of
JOIN groups ON groups.id = unanswered.group_id
JOIN messages ON messages.id = unanswered.first_message_id
LEFT JOIN conversation_topics AS topic ON topic.group_id = unanswered.group_id
WHERE groups.archived_at IS NULL;

-- From sql/views/14_company_health.sql sha256:cd77004d98fd14f3
CREATE OR REPLACE VIEW company_health
COMMENT 'How active is each company: how much do its people write, more or less than before, and what are they waiting for? One row per company, without our own and deleted ones. Bots are not counted.'
AS
-- The messages are read once: a query has at most 150 stages, and those of message_senders are 18.
WITH spoken AS (
  SELECT
    company_id,
    group_id,
    sender_id,
    side,
    created_at,
    as_of,
    max(CASE WHEN side = 'staff' AND NOT is_internal AND created_at <= as_of THEN created_at END) OVER (PARTITION BY group_id)
      AS staff_replied_at
  FROM message_senders
  CROSS JOIN data_as_of
),
activity AS (
  SELECT
    m.company_id,
    count(*) FILTER (WHERE m.created_at <= as_of) AS messages,
    count(DISTINCT m.sender_id) FILTER (WHERE m.created_at <= as_of) AS people,
    count(*) FILTER (WHERE m.created_at > as_of - INTERVAL '28' DAY AND m.created_at <= as_of) AS messages_last_28_days,
    count(*) FILTER (WHERE m.created_at > as_of - INTERVAL '56' DAY AND m.created_at <= as_of - INTERVAL '28' DAY)
      AS messages_28_days_before,
    max(m.created_at) FILTER (WHERE m.created_at <= as_of) AS last_message_at,
    max(staff_replied_at) AS last_staff_reply_at,
    count(DISTINCT unanswered_groups.group_id) AS unanswered_groups
  FROM spoken AS m
  LEFT JOIN unanswered_groups ON unanswered_groups.group_id = m.group_id
  WHERE m.side = 'external'
  GROUP BY m.company_id
),
concerned AS (
  SELECT
    person_roles.company_id,
    count(DISTINCT open_topics.topic_id) AS open_topics,
    count(DISTINCT open_topics.topic_id) FILTER (WHERE open_topics.priority_rank <= 2) AS urgent_topics
  FROM topic_people
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = topic_people.person_id
  JOIN person_roles ON person_roles.person_id = coalesce(final_ids.final_id, topic_people.person_id)
  JOIN open_topics ON open_topics.topic_id = topic_people.topic_id
  WHERE NOT person_roles.is_bot AND NOT person_roles.is_staff
  GROUP BY person_roles.company_id
)
SELECT
  c.id AS company_id,
  c.name,
  c.primary_domain,
  coalesce(c.is_vip, false) AS is_vip,
  c.person_count AS people,
  coalesce(activity.people, 0) AS people_who_wrote,
  coalesce(activity.messages, 0) AS messages,
  coalesce(activity.messages_last_28_days, 0) AS messages_last_28_days,
  coalesce(activity.messages_28_days_before, 0) AS messages_28_days_before,
  activity.last_message_at,
  (to_unixtime(as_of) - to_unixtime(activity.last_message_at)) / 86400 AS days_silent,
  activity.last_staff_reply_at,
  coalesce(concerned.open_topics, 0) AS open_topics,
  coalesce(concerned.urgent_topics, 0) AS urgent_topics,
  coalesce(activity.unanswered_groups, 0) AS unanswered_groups,
  CASE
    WHEN coalesce(activity.messages_last_28_days, 0) = 0 THEN 'silent'
    WHEN activity.messages_28_days_before = 0 THEN 'new'
    WHEN activity.messages_last_28_days >= activity.messages_28_days_before * 1.5 THEN 'growing'
    WHEN activity.messages_last_28_days * 1.5 <= activity.messages_28_days_before THEN 'fading'
    ELSE 'steady'
  END AS trend
FROM companies AS c
CROSS JOIN data_as_of
LEFT JOIN activity ON activity.company_id = c.id
LEFT JOIN concerned ON concerned.company_id = c.id
WHERE c.deleted_at IS NULL AND NOT coalesce(c.is_org_company, false);

-- From sql/views/15_top_helpers.sql sha256:cec6fd05d3bc591a
CREATE OR REPLACE VIEW top_helpers
COMMENT 'Who helps most? One row per person who answered in a conversation that somebody else opened, staff and community alike (is_staff tells them apart). Bots and internal notes are left out.'
AS
WITH opened AS (
  SELECT
    person_id,
    group_id,
    message_id,
    created_at,
    sender_id,
    side,
    is_internal,
    position,
    min(CASE WHEN side = 'external' AND sender_id IS NOT NULL THEN created_at END) OVER (PARTITION BY group_id) AS opened_at,
    first_value(CASE WHEN side = 'external' AND sender_id IS NOT NULL THEN position END) IGNORE NULLS OVER (
      PARTITION BY group_id ORDER BY created_at NULLS LAST, position, message_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS opened_position,
    first_value(CASE WHEN side = 'external' THEN sender_id END) IGNORE NULLS OVER (
      PARTITION BY group_id ORDER BY created_at NULLS LAST, position, message_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS asker_id
  FROM message_senders
),
answers AS (
  SELECT
    person_id,
    group_id,
    asker_id,
    opened_at,
    message_id,
    created_at,
    row_number() OVER (PARTITION BY group_id ORDER BY created_at, position, message_id) = 1 AS is_first
  FROM opened
  WHERE side <> 'bot' AND NOT is_internal AND sender_id <> asker_id
    -- A message without a time comes last, as in DuckDB.
    AND (
      created_at > opened_at
      OR created_at IS NULL AND opened_at IS NOT NULL
      OR created_at IS NOT DISTINCT FROM opened_at AND position >= opened_position
    )
),
thanks AS (
  SELECT message_id, sum("count") AS reactions
  FROM message_reactions
  GROUP BY message_id
),
helpers AS (
  -- Trino has no exact median: it is taken from the sorted values.
  SELECT
    answers.person_id,
    count(DISTINCT answers.group_id) AS conversations_helped,
    count(DISTINCT answers.asker_id) AS people_helped,
    count(*) AS answers,
    count(*) FILTER (WHERE is_first) AS first_answers,
    array_agg((to_unixtime(answers.created_at) - to_unixtime(answers.opened_at)) / 60 ORDER BY answers.created_at - answers.opened_at)
      FILTER (WHERE is_first AND answers.created_at IS NOT NULL) AS minutes,
    coalesce(sum(thanks.reactions), 0) AS reactions,
    max(answers.created_at) AS last_helped_at
  FROM answers
  LEFT JOIN thanks ON thanks.message_id = answers.message_id
  GROUP BY answers.person_id
)
SELECT
  helpers.person_id,
  person_roles.display_name,
  person_roles.is_staff,
  person_roles.company_id,
  person_roles.company_name,
  helpers.conversations_helped,
  helpers.people_helped,
  helpers.answers,
  helpers.first_answers,
  (minutes[(cardinality(minutes) + 1) / 2] + minutes[cardinality(minutes) / 2 + 1]) / 2 AS median_minutes_to_first_answer,
  helpers.reactions,
  helpers.last_helped_at
FROM helpers
JOIN person_roles ON person_roles.person_id = helpers.person_id;

-- From sql/views/16_source_mix.sql sha256:1abfc20d0c3c7f7c
CREATE OR REPLACE VIEW source_mix
COMMENT 'Where do people talk to us, and how does that change? One row per ISO week (UTC) and source system, without staff and bots.'
AS
SELECT
  week,
  source_name,
  count(*) AS messages,
  count(DISTINCT sender_id) AS people,
  count(DISTINCT company_id) AS companies,
  count(DISTINCT group_id) AS conversations,
  CAST(count(*) AS double) / sum(count(*)) OVER (PARTITION BY week) AS share
FROM message_senders
WHERE side = 'external' AND week IS NOT NULL
GROUP BY week, source_name;

-- From sql/views/17_lifecycle_transitions.sql sha256:1f8d4eed7786b672
CREATE OR REPLACE VIEW lifecycle_transitions
COMMENT 'How do topics move from open to done, who moves them, and how long does it take? One row per recorded change of a topic''s lifecycle state; deleted topics are left out.'
AS
WITH recorded AS (
  SELECT
    id,
    entity_id AS topic_id,
    changed_at,
    changed_by,
    user_name,
    row_number() OVER (PARTITION BY entity_id ORDER BY changed_at NULLS LAST, id) = 1 AS is_earliest,
    json_extract_scalar(changes, '$.lifecycleState') AS to_state,
    CASE
      WHEN json_exists(previous_values, 'strict $.lifecycleState') THEN json_extract_scalar(previous_values, '$.lifecycleState')
      ELSE lag(json_extract_scalar(changes, '$.lifecycleState')) OVER (PARTITION BY entity_id ORDER BY changed_at NULLS LAST, id)
    END AS from_state
  FROM history
  WHERE entity_type = 'topic' AND operation <> 'DELETE' AND json_exists(changes, 'strict $.lifecycleState')
),
existing AS (
  SELECT recorded.*, topics.title, requests.requested_by, requests.requested_reason, requests.change_id
  FROM recorded
  LEFT JOIN topics ON topics.id = recorded.topic_id
  LEFT JOIN history_requests AS requests ON requests.history_id = recorded.id
  WHERE recorded.from_state IS DISTINCT FROM recorded.to_state AND topics.deleted_at IS NULL
)
SELECT
  id AS history_id,
  topic_id,
  title,
  changed_at,
  changed_by,
  user_name,
  requested_by,
  requested_reason,
  change_id,
  from_state,
  to_state,
  is_earliest AND from_state IS NULL AS is_first,
  (to_unixtime(changed_at) - to_unixtime(lag(changed_at) OVER (PARTITION BY topic_id ORDER BY changed_at NULLS LAST, id))) / 86400
    AS days_in_from_state
FROM existing;

-- From sql/views/18_priority_transitions.sql sha256:a374725cc5f470b9
CREATE OR REPLACE VIEW priority_transitions
COMMENT 'Which topics got a higher or lower priority, when and from whom? One row per recorded change of a topic''s priority; deleted topics are left out.'
AS
WITH recorded AS (
  SELECT
    id,
    entity_id AS topic_id,
    changed_at,
    changed_by,
    user_name,
    row_number() OVER (PARTITION BY entity_id ORDER BY changed_at NULLS LAST, id) = 1 AS is_earliest,
    json_extract_scalar(changes, '$.priority') AS to_priority,
    CASE
      WHEN json_exists(previous_values, 'strict $.priority') THEN json_extract_scalar(previous_values, '$.priority')
      ELSE lag(json_extract_scalar(changes, '$.priority')) OVER (PARTITION BY entity_id ORDER BY changed_at NULLS LAST, id)
    END AS from_priority
  FROM history
  WHERE entity_type = 'topic' AND operation <> 'DELETE' AND json_exists(changes, 'strict $.priority')
),
ranked AS (
  SELECT
    recorded.*,
    nullif(array_position(ARRAY['very_low', 'low', 'default', 'high', 'very_high'], from_priority), 0) AS from_rank,
    nullif(array_position(ARRAY['very_low', 'low', 'default', 'high', 'very_high'], to_priority), 0) AS to_rank
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
  ranked.to_priority,
  ranked.is_earliest AND ranked.from_priority IS NULL AS is_first,
  CASE WHEN to_rank > from_rank THEN 'raised' WHEN to_rank < from_rank THEN 'lowered' END AS direction
FROM ranked
LEFT JOIN topics ON topics.id = ranked.topic_id
LEFT JOIN history_requests AS requests ON requests.history_id = ranked.id
WHERE ranked.from_priority IS DISTINCT FROM ranked.to_priority AND topics.deleted_at IS NULL;

-- From sql/views/23_awaiting_reply.sql sha256:24ba3d6f4c73f17e
CREATE OR REPLACE VIEW awaiting_reply
COMMENT 'Who is waiting for a reply from us, and since when? One row per conversation in which somebody from outside wrote last, never answered (also in unanswered_groups) or answered before. Archived conversations are left out. Messages of bots and internal notes do not count.'
AS
SELECT
  waiting.group_id,
  groups.title,
  topic.topic_id,
  topic.title AS topic_title,
  topic.priority AS topic_priority,
  topic.lifecycle_state AS topic_lifecycle_state,
  waiting.began_at AS waiting_since,
  (to_unixtime(as_of) - to_unixtime(waiting.began_at)) / 3600 AS waiting_hours,
  waiting.ended_at AS last_message_at,
  waiting.last_message_id,
  messages.author_id AS last_author_id,
  author.person_id AS last_person_id,
  author.display_name AS last_name,
  author.company_id AS last_company_id,
  waiting.side,
  waiting.is_vip,
  waiting.answer = 'next' AS was_answered_before,
  waiting.messages,
  messages.source_name,
  messages.source_url
FROM conversation_turns AS waiting
CROSS JOIN data_as_of
JOIN groups ON groups.id = waiting.group_id
JOIN messages ON messages.id = waiting.last_message_id
LEFT JOIN author_people AS author ON author.author_id = messages.author_id
LEFT JOIN conversation_topics AS topic ON topic.group_id = waiting.group_id
WHERE waiting.answered_at IS NULL AND waiting.side = 'external' AND groups.archived_at IS NULL;

-- From sql/views/24_response_times.sql sha256:ffcf9b7567b29521
CREATE OR REPLACE VIEW response_times
COMMENT 'How fast does staff answer? One row per month, source system, priority of the topic, and first or next answer. The turns themselves, for other groups, are in conversation_turns.'
AS
-- Trino has no exact quantiles: they are taken from the sorted values, between two of them where that is needed.
WITH questions AS (
  SELECT
    CAST(date_trunc('month', turns.began_at AT TIME ZONE 'UTC') AS date) AS month,
    turns.source_name,
    topic.priority,
    turns.answer,
    turns.answered_at,
    turns.hours_to_answer,
    turns.business_hours_to_answer
  FROM conversation_turns AS turns
  LEFT JOIN conversation_topics AS topic ON topic.group_id = turns.group_id
  WHERE turns.side = 'external'
),
counted AS (
  SELECT
    month,
    source_name,
    priority,
    answer,
    count(*) AS questions,
    count(answered_at) AS answered,
    avg(hours_to_answer) AS average_hours,
    array_agg(hours_to_answer ORDER BY hours_to_answer) FILTER (WHERE answered_at IS NOT NULL) AS hours,
    array_agg(business_hours_to_answer ORDER BY business_hours_to_answer) FILTER (WHERE answered_at IS NOT NULL)
      AS business_hours
  FROM questions
  GROUP BY month, source_name, priority, answer
),
places AS (
  SELECT
    counted.*,
    (answered + 1) / 2 AS middle,
    answered / 2 + 1 AS next_middle,
    9 * (answered - 1) / 10 + 1 AS below,
    least(9 * (answered - 1) / 10 + 2, answered) AS above,
    9 * (answered - 1) % 10 / 10e0 AS part
  FROM counted
)
SELECT
  month,
  source_name,
  priority,
  answer,
  questions,
  answered,
  (hours[middle] + hours[next_middle]) / 2 AS median_hours,
  average_hours,
  hours[below] + part * (hours[above] - hours[below]) AS p90_hours,
  (business_hours[middle] + business_hours[next_middle]) / 2 AS median_business_hours,
  business_hours[below] + part * (business_hours[above] - business_hours[below]) AS p90_business_hours
FROM places;

-- From sql/views/25_topic_momentum.sql sha256:109a909ace585bd3
CREATE OR REPLACE VIEW topic_momentum
COMMENT 'Which topics grow, and how fast? One row per topic that is not deleted. Counts back from data_as_of.as_of, from the messages themselves, without staff and bots.'
AS
WITH activity AS (
  SELECT
    topic_groups.topic_id,
    count(*) FILTER (WHERE m.created_at > as_of - INTERVAL '7' DAY) AS messages_last_7_days,
    count(*) FILTER (WHERE m.created_at > as_of - INTERVAL '14' DAY AND m.created_at <= as_of - INTERVAL '7' DAY)
      AS messages_7_days_before,
    count(*) FILTER (WHERE m.created_at > as_of - INTERVAL '28' DAY) AS messages_last_28_days,
    count(*) FILTER (WHERE m.created_at <= as_of - INTERVAL '28' DAY) AS messages_28_days_before,
    count(DISTINCT m.sender_id) FILTER (WHERE m.created_at > as_of - INTERVAL '28' DAY) AS people_last_28_days,
    count(DISTINCT m.sender_id) FILTER (WHERE m.created_at <= as_of - INTERVAL '28' DAY) AS people_28_days_before,
    count(DISTINCT m.company_id) FILTER (WHERE m.created_at > as_of - INTERVAL '28' DAY) AS companies_last_28_days,
    count(DISTINCT m.company_id) FILTER (WHERE m.created_at <= as_of - INTERVAL '28' DAY) AS companies_28_days_before
  FROM message_senders AS m
  JOIN topic_groups ON topic_groups.group_id = m.group_id
  CROSS JOIN data_as_of
  WHERE m.side = 'external' AND m.created_at <= as_of AND m.created_at > as_of - INTERVAL '56' DAY
  GROUP BY topic_groups.topic_id
)
SELECT
  topics.id AS topic_id,
  topics.title,
  topics.priority,
  topics.lifecycle_state,
  open_topics.topic_id IS NOT NULL AS is_open,
  coalesce(activity.messages_last_7_days, 0) AS messages_last_7_days,
  coalesce(activity.messages_7_days_before, 0) AS messages_7_days_before,
  CAST(activity.messages_last_7_days AS double) / nullif(activity.messages_7_days_before, 0) AS growth_7_days,
  coalesce(activity.messages_last_28_days, 0) AS messages_last_28_days,
  coalesce(activity.messages_28_days_before, 0) AS messages_28_days_before,
  CAST(activity.messages_last_28_days AS double) / nullif(activity.messages_28_days_before, 0) AS growth_28_days,
  coalesce(activity.messages_last_28_days >= 2 * activity.messages_28_days_before AND activity.messages_28_days_before > 0, false) AS has_doubled,
  coalesce(activity.messages_last_28_days > 0 AND activity.messages_28_days_before = 0, false) AS is_new,
  coalesce(activity.people_last_28_days, 0) AS people_last_28_days,
  coalesce(activity.people_28_days_before, 0) AS people_28_days_before,
  coalesce(activity.companies_last_28_days, 0) AS companies_last_28_days,
  coalesce(activity.companies_28_days_before, 0) AS companies_28_days_before
FROM topics
LEFT JOIN activity ON activity.topic_id = topics.id
LEFT JOIN open_topics ON open_topics.topic_id = topics.id
WHERE topics.deleted_at IS NULL;

-- From sql/views/26_company_topics.sql sha256:a4b652ac5c3f0ed8
CREATE OR REPLACE VIEW company_topics
COMMENT 'Which topics concern which companies, and how large are these? One row per topic and company whose people take part in it or wrote in its conversations; without our own company, bots, and what is deleted. sum(employees) by topic weighs topics by the size of the companies.'
AS
WITH taking_part AS (
  SELECT DISTINCT
    topic_people.topic_id,
    person_roles.company_id,
    person_roles.person_id
  FROM topic_people
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = topic_people.person_id
  JOIN person_roles ON person_roles.person_id = coalesce(final_ids.final_id, topic_people.person_id)
  WHERE NOT person_roles.is_staff AND NOT person_roles.is_bot AND person_roles.company_id IS NOT NULL
),
concerned AS (
  SELECT topic_id, company_id, count(*) AS people
  FROM taking_part
  GROUP BY topic_id, company_id
),
written AS (
  SELECT
    topic_groups.topic_id,
    message_senders.company_id,
    count(*) AS messages,
    max(message_senders.created_at) AS last_message_at
  FROM message_senders
  JOIN topic_groups ON topic_groups.group_id = message_senders.group_id
  WHERE message_senders.side = 'external' AND message_senders.company_id IS NOT NULL
  GROUP BY topic_groups.topic_id, message_senders.company_id
),
employed AS (
  SELECT
    coalesce(final_ids.final_id, company_employees.company_id) AS company_id,
    count(DISTINCT company_employees.person_id) AS employees
  FROM company_employees
  LEFT JOIN final_ids ON final_ids.entity_type = 'company' AND final_ids.id = company_employees.company_id
  GROUP BY coalesce(final_ids.final_id, company_employees.company_id)
),
both_sides AS (
  SELECT
    coalesce(concerned.topic_id, written.topic_id) AS topic_id,
    coalesce(concerned.company_id, written.company_id) AS company_id,
    coalesce(concerned.people, 0) AS people,
    coalesce(written.messages, 0) AS messages,
    written.last_message_at
  FROM concerned
  FULL JOIN written ON written.topic_id = concerned.topic_id AND written.company_id = concerned.company_id
)
SELECT
  companies.id AS company_id,
  companies.name AS company_name,
  coalesce(companies.is_vip, false) AS is_vip,
  coalesce(companies.person_count, employed.employees, 0) AS employees,
  topics.id AS topic_id,
  topics.title,
  topics.priority,
  topics.lifecycle_state,
  open_topics.topic_id IS NOT NULL AS is_open,
  both_sides.people,
  CAST(both_sides.people AS double) / nullif(coalesce(companies.person_count, employed.employees), 0) AS share_of_employees,
  both_sides.messages,
  both_sides.last_message_at
FROM both_sides
JOIN topics ON topics.id = both_sides.topic_id
JOIN companies ON companies.id = both_sides.company_id
LEFT JOIN employed ON employed.company_id = companies.id
LEFT JOIN open_topics ON open_topics.topic_id = topics.id
WHERE topics.deleted_at IS NULL AND companies.deleted_at IS NULL AND NOT coalesce(companies.is_org_company, false);

-- From sql/views/31_backlog_weekly.sql sha256:ff4687f7b619f8f8
CREATE OR REPLACE VIEW backlog_weekly
COMMENT 'How does the backlog develop? One row per ISO week (UTC), priority and lifecycle state in which a topic was open or moved; both as they were at the end of the week, or are now for the last one. The first week is ten years before the data. Over all rows of a week, open is open of the week before + new + reopened - closed. Before the first sync it is based on histories (topic_states).'
AS
-- What a sync saw after the latest time in the data (data_as_of) is as old as that: nothing is known of later weeks. What
-- began more than ten years before it counts as if it began then: a topic of the year 1 would fill 100,000 weeks.
WITH periods AS (
  SELECT
    topic_states.topic_id,
    if(
      topic_states.valid_to IS NULL,
      NULL,
      least(greatest(topic_states.valid_to, coalesce(data_as_of.as_of - INTERVAL '10' YEAR, topic_states.valid_to)), coalesce(data_as_of.as_of, topic_states.valid_to))
    ) AS valid_to,
    topic_states.priority,
    topic_states.lifecycle_state,
    topic_states.is_open,
    lag(topic_states.is_open) OVER (PARTITION BY topic_states.topic_id ORDER BY topic_states.valid_from) AS was_open,
    CAST(
      date_trunc('week', least(greatest(topic_states.valid_from, coalesce(data_as_of.as_of - INTERVAL '10' YEAR, topic_states.valid_from)), coalesce(data_as_of.as_of, topic_states.valid_from)) AT TIME ZONE 'UTC') AS date
    ) AS first_week
  FROM topic_states
  CROSS JOIN data_as_of
),
weeks AS (
  SELECT
    periods.topic_id,
    periods.priority,
    periods.lifecycle_state,
    periods.is_open,
    periods.first_week,
    -- The last week at whose end it was so.
    if(
      periods.valid_to IS NULL,
      greatest(periods.first_week, coalesce(CAST(date_trunc('week', data_as_of.as_of AT TIME ZONE 'UTC') AS date), periods.first_week)),
      CAST(date_trunc('week', periods.valid_to AT TIME ZONE 'UTC') AS date) - INTERVAL '7' DAY
    ) AS last_week
  FROM periods
  CROSS JOIN data_as_of
),
at_week_end AS (
  SELECT
    weeks.topic_id,
    each.week,
    weeks.priority,
    weeks.lifecycle_state,
    weeks.is_open
  FROM weeks
  CROSS JOIN UNNEST(sequence(weeks.first_week, weeks.last_week, INTERVAL '7' DAY)) AS each (week)
  WHERE weeks.first_week <= weeks.last_week
),
moved AS (
  SELECT
    topic_id,
    first_week AS week,
    count(*) FILTER (WHERE was_open IS NULL) AS opened,
    count(*) FILTER (WHERE is_open AND NOT was_open) AS reopened,
    -- One that was never open, as far as is known, is closed at once.
    count(*) FILTER (WHERE NOT is_open AND coalesce(was_open, true)) AS closed
  FROM periods
  WHERE is_open IS DISTINCT FROM was_open
  GROUP BY topic_id, first_week
)
SELECT
  at_week_end.week,
  at_week_end.priority,
  at_week_end.lifecycle_state,
  count(*) FILTER (WHERE at_week_end.is_open) AS open,
  coalesce(sum(moved.opened), 0) AS new,
  coalesce(sum(moved.reopened), 0) AS reopened,
  coalesce(sum(moved.closed), 0) AS closed
FROM at_week_end
LEFT JOIN moved ON moved.topic_id = at_week_end.topic_id AND moved.week = at_week_end.week
WHERE at_week_end.is_open OR moved.topic_id IS NOT NULL
GROUP BY at_week_end.week, at_week_end.priority, at_week_end.lifecycle_state;

-- From sql/views/32_lifecycle_funnel.sql sha256:30f2ea98b8defea6
CREATE OR REPLACE VIEW lifecycle_funnel
COMMENT 'How many topics get how far, and how long does it take? One row per step: created, and each lifecycle state that a topic has had (topic_states). Deleted topics are left out.'
AS
WITH existing AS (
  SELECT topic_states.topic_id, topic_states.opened_at, topic_states.valid_from, topic_states.lifecycle_state
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
    (to_unixtime(valid_from) - to_unixtime(opened_at)) / 86400 AS days_to_reach,
    (to_unixtime(lead(valid_from) OVER (PARTITION BY topic_id ORDER BY valid_from)) - to_unixtime(valid_from)) / 86400
      AS days_in_state,
    row_number() OVER (PARTITION BY topic_id, lifecycle_state ORDER BY valid_from) = 1 AS is_first,
    row_number() OVER (PARTITION BY topic_id ORDER BY valid_from DESC) = 1 AS is_last
  FROM moves
  WHERE is_move
),
-- The first period of an unassessed topic is no move, because NULL is not distinct from nothing before it.
steps AS (
  SELECT 'created' AS step, CAST(0 AS double) AS days_to_reach, CAST(NULL AS double) AS days_in_state, true AS is_first, false AS is_last
  FROM (SELECT DISTINCT topic_id FROM existing) AS topics_created
  UNION ALL
  SELECT lifecycle_state, days_to_reach, days_in_state, is_first, is_last
  FROM stays
  WHERE lifecycle_state IS NOT NULL
),
-- Trino has no exact median: it is taken from the sorted values.
counted AS (
  SELECT
    step,
    count(*) FILTER (WHERE is_first) AS topics,
    array_agg(days_to_reach ORDER BY days_to_reach) FILTER (WHERE is_first AND days_to_reach IS NOT NULL) AS days_to_reach,
    array_agg(days_in_state ORDER BY days_in_state) FILTER (WHERE days_in_state IS NOT NULL) AS days_in_state,
    count(*) FILTER (WHERE is_last) AS topics_now
  FROM steps
  GROUP BY step
)
SELECT
  nullif(array_position(ARRAY['created', 'unknown', 'open', 'in_progress', 'completed', 'dismissed'], step), 0) AS position,
  step,
  topics,
  CAST(topics AS double) / (SELECT count(DISTINCT topic_id) FROM existing) AS share,
  (days_to_reach[(cardinality(days_to_reach) + 1) / 2] + days_to_reach[cardinality(days_to_reach) / 2 + 1]) / 2
    AS median_days_to_reach,
  (days_in_state[(cardinality(days_in_state) + 1) / 2] + days_in_state[cardinality(days_in_state) / 2 + 1]) / 2
    AS median_days_in_state,
  topics_now
FROM counted;

-- From sql/views/36_companies_at_risk.sql sha256:8757279a94311baf
CREATE OR REPLACE VIEW companies_at_risk
COMMENT 'Which companies may we lose, and why? One row per company whose people write much less than before, or no longer, while something of theirs is open; or that is a VIP and waits for a reply.'
AS
WITH waiting AS (
  SELECT last_company_id AS company_id, count(*) AS waiting_conversations, max(waiting_hours) AS longest_wait_hours
  FROM awaiting_reply
  GROUP BY last_company_id
),
spoken_in AS (
  SELECT DISTINCT company_id, group_id
  FROM message_senders
  WHERE side = 'external' AND company_id IS NOT NULL
),
talking AS (
  SELECT spoken_in.company_id, count(DISTINCT spoken_in.group_id) AS open_conversations
  FROM spoken_in
  JOIN topic_groups ON topic_groups.group_id = spoken_in.group_id
  JOIN open_topics ON open_topics.topic_id = topic_groups.topic_id
  GROUP BY spoken_in.company_id
),
judged AS (
  SELECT
    health.*,
    coalesce(talking.open_conversations, 0) AS open_conversations,
    coalesce(waiting.waiting_conversations, 0) AS waiting_conversations,
    waiting.longest_wait_hours,
    CASE
      WHEN health.trend IN ('fading', 'silent')
        AND health.messages > 0
        AND (health.open_topics > 0 OR waiting.waiting_conversations > 0)
        THEN health.trend
      WHEN health.is_vip AND waiting.waiting_conversations > 0 THEN 'vip_waits'
    END AS reason
  FROM company_health AS health
  LEFT JOIN talking ON talking.company_id = health.company_id
  LEFT JOIN waiting ON waiting.company_id = health.company_id
)
SELECT
  company_id,
  name,
  is_vip,
  reason,
  trend,
  messages_last_28_days,
  messages_28_days_before,
  last_message_at,
  days_silent,
  last_staff_reply_at,
  open_topics,
  urgent_topics,
  open_conversations,
  waiting_conversations,
  longest_wait_hours
FROM judged
WHERE reason IS NOT NULL;

-- From sql/views/41_probable_duplicates.sql sha256:e6cbde1653014a9b
CREATE OR REPLACE VIEW probable_duplicates
COMMENT 'Which topics, and which people, are probably the same? One row per pair; probable_duplicates_precision says how often such a list was right. Deleted, merged, superseded and archived ones are left out.'
AS
SELECT
  row_number() OVER (PARTITION BY pairs.entity_type ORDER BY pairs.score DESC, pairs.id_1, pairs.id_2) AS place,
  pairs.entity_type,
  pairs.score,
  pairs.reasons,
  pairs.id_1,
  coalesce(topic_1.title, person_1.display_name) AS name_1,
  pairs.id_2,
  coalesce(topic_2.title, person_2.display_name) AS name_2
FROM duplicate_pairs AS pairs
LEFT JOIN topics AS topic_1 ON pairs.entity_type = 'topic' AND topic_1.id = pairs.id_1
LEFT JOIN topics AS topic_2 ON pairs.entity_type = 'topic' AND topic_2.id = pairs.id_2
LEFT JOIN people AS person_1 ON pairs.entity_type = 'person' AND person_1.id = pairs.id_1
LEFT JOIN people AS person_2 ON pairs.entity_type = 'person' AND person_2.id = pairs.id_2
WHERE pairs.outcome = 'open';

-- From sql/views/42_probable_duplicates_precision.sql sha256:0cde09f401c91ebf
CREATE OR REPLACE VIEW probable_duplicates_precision
COMMENT 'How good is probable_duplicates here? What this organization has merged is ranked as if it were still there. One row for topics and one for people.'
AS
WITH kinds AS (
  SELECT DISTINCT 'topic' AS entity_type, 'topics' AS plural FROM topics
  UNION ALL
  SELECT DISTINCT 'person', 'people' FROM people
),
past AS (
  SELECT entity_type, source_id FROM merges
  UNION
  SELECT 'topic', id FROM topics WHERE merged_into_id IS NOT NULL
  UNION
  SELECT 'person', id FROM people WHERE merged_into_id IS NOT NULL
),
-- What was merged before it was ever fetched has left no text to compare.
seen AS (
  SELECT 'topic' AS entity_type, source.id
  FROM topics AS source
  JOIN topics AS target ON target.id = source.merged_into_id
  UNION ALL
  SELECT 'person', source.id
  FROM people AS source
  JOIN people AS target ON target.id = source.merged_into_id
),
ranked AS (
  SELECT
    entity_type,
    outcome,
    row_number() OVER (PARTITION BY entity_type ORDER BY score DESC, id_1, id_2) AS place
  FROM duplicate_pairs
),
listed AS (
  SELECT
    entity_type,
    sum(CASE WHEN outcome = 'merged' THEN 1 ELSE 0 END) AS found,
    sum(CASE WHEN outcome = 'merged' AND place <= 100 THEN 1 ELSE 0 END) AS in_first_100
  FROM ranked
  GROUP BY entity_type
),
counted AS (
  SELECT
    kinds.entity_type,
    kinds.plural,
    coalesce(past_counts.merges, 0) AS merges,
    coalesce(seen_counts.compared, 0) AS compared,
    CAST(coalesce(listed.found, 0) AS BIGINT) AS found,
    CAST(coalesce(listed.in_first_100, 0) AS BIGINT) AS in_first_100
  FROM kinds
  LEFT JOIN (SELECT entity_type, count(*) AS merges FROM past GROUP BY entity_type) AS past_counts
    ON past_counts.entity_type = kinds.entity_type
  LEFT JOIN (SELECT entity_type, count(*) AS compared FROM seen GROUP BY entity_type) AS seen_counts
    ON seen_counts.entity_type = kinds.entity_type
  LEFT JOIN listed ON listed.entity_type = kinds.entity_type
)
SELECT
  entity_type,
  merges,
  compared,
  found,
  in_first_100,
  CASE
    WHEN merges = 0
      THEN 'No ' || plural || ' have been merged yet, so nobody can say how good this list is.'
    WHEN compared = 0
      THEN 'All past merges of ' || plural || ' (' || CAST(merges AS VARCHAR) || ') were made before the first sync and cannot be compared, so nobody can say how good this list is.'
    ELSE 'Of ' || CAST(compared AS VARCHAR) || ' past merges of ' || plural || ', ' || CAST(in_first_100 AS VARCHAR)
      || ' would have been in the first 100 pairs'
      || CASE
        WHEN merges > compared
          THEN ' (' || CAST(merges - compared AS VARCHAR) || ' more were made before the first sync and cannot be compared)'
        ELSE ''
      END
      || '.'
  END AS sentence
FROM counted;
