-- How often what happened since the date, one row for each kind, also for those that never happened. What a record or a topic
-- dates after the data (data_as_of), or after it was fetched, has a wrong time, and would count in every report.
SELECT 1 AS place, 'Topics opened' AS what, count(*) AS times
FROM topics, data_as_of
WHERE coalesce(created_at, time_range_start) BETWEEN $since::TIMESTAMPTZ AND as_of AND deleted_at IS NULL
UNION ALL
SELECT 2, 'Topics completed', count(DISTINCT topic_id)
FROM lifecycle_transitions, data_as_of
WHERE to_state = 'completed' AND changed_at BETWEEN $since::TIMESTAMPTZ AND as_of
UNION ALL
SELECT 3, 'Topics dismissed', count(DISTINCT topic_id)
FROM lifecycle_transitions, data_as_of
WHERE to_state = 'dismissed' AND changed_at BETWEEN $since::TIMESTAMPTZ AND as_of
UNION ALL
SELECT 4, 'Topics archived', count(*)
FROM topics WHERE archived_at BETWEEN $since::TIMESTAMPTZ AND synced_at AND deleted_at IS NULL
UNION ALL
SELECT 5, 'Topics merged into others', count(*)
FROM merges WHERE entity_type = 'topic' AND merged_at BETWEEN $since::TIMESTAMPTZ AND synced_at
UNION ALL
SELECT 6, 'Priorities raised', count(*)
FROM priority_transitions, data_as_of
WHERE direction = 'raised' AND changed_at BETWEEN $since::TIMESTAMPTZ AND as_of
UNION ALL
SELECT 7, 'Priorities lowered', count(*)
FROM priority_transitions, data_as_of
WHERE direction = 'lowered' AND changed_at BETWEEN $since::TIMESTAMPTZ AND as_of
ORDER BY place;
