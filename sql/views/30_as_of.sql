-- A day, such as '2026-03-31', means its end: everything that happened on that day counts. A moment is a moment.
CREATE OR REPLACE MACRO topic_as_of(day) AS TABLE
SELECT
  topic_states.topic_id,
  topic_states.title,
  topic_states.priority,
  topic_states.priority_rank,
  topic_states.lifecycle_state,
  topic_states.graph_status,
  topic_states.opened_at,
  date_diff('microsecond', topic_states.opened_at, asked.moment) / 86400e6 AS age_days,
  topic_states.archived_at,
  topic_states.deleted_at,
  topic_states.merged_into_id,
  topic_states.detail_unavailable_reason,
  topic_states.is_open,
  topic_states.based_on,
  topic_states.valid_from,
  topic_states.valid_to
FROM topic_states
CROSS JOIN (
  SELECT
    (
      CASE
        WHEN regexp_full_match(day::VARCHAR, '\s*\d+-\d+-\d+\s*') THEN day::VARCHAR::DATE::VARCHAR || ' 23:59:59.999999+00'
        WHEN regexp_matches(day::VARCHAR, '(Z|[+-][0-9]{2}(:?[0-9]{2})?)$') THEN day::VARCHAR
        ELSE day::VARCHAR || '+00'
      END
    )::TIMESTAMPTZ AS moment
) AS asked
WHERE topic_states.valid_from <= asked.moment
  AND (topic_states.valid_to > asked.moment OR topic_states.valid_to IS NULL);

COMMENT ON MACRO TABLE topic_as_of IS 'In what state was each topic at the end of a day (UTC), or at a moment? One row per topic that existed then or was gone by then, with the columns of topic_states and age_days: days from opened_at to then, with fractions. based_on says whether versions or only the history were used. Before the first sync only topics whose history was fetched are in it (data_as_of.is_complete).';

CREATE OR REPLACE MACRO backlog_as_of(day) AS TABLE
SELECT topic_id, title, priority, priority_rank, lifecycle_state, opened_at, age_days, based_on
FROM topic_as_of(day)
WHERE is_open;

COMMENT ON MACRO TABLE backlog_as_of IS 'Which topics were open at the end of a day (UTC), or at a moment? One row per topic that was open, as in backlog: title, priority and lifecycle_state as they were, opened_at, age_days (days with fractions), and based_on (versions or history). Before the first sync only topics whose history was fetched are in it (data_as_of.is_complete).';
