-- How often what happened since the date, one row for each kind, also for those that never happened.
SELECT 1 AS place, 'Topics opened' AS what, count(*) AS times
FROM topics WHERE created_at >= $since::TIMESTAMPTZ AND deleted_at IS NULL
UNION ALL
SELECT 2, 'Topics completed', count(DISTINCT topic_id)
FROM lifecycle_transitions WHERE to_state = 'completed' AND changed_at >= $since::TIMESTAMPTZ
UNION ALL
SELECT 3, 'Topics dismissed', count(DISTINCT topic_id)
FROM lifecycle_transitions WHERE to_state = 'dismissed' AND changed_at >= $since::TIMESTAMPTZ
UNION ALL
SELECT 4, 'Topics archived', count(*)
FROM topics WHERE archived_at >= $since::TIMESTAMPTZ AND deleted_at IS NULL
UNION ALL
SELECT 5, 'Topics merged into others', count(*)
FROM merges WHERE entity_type = 'topic' AND merged_at >= $since::TIMESTAMPTZ
UNION ALL
SELECT 6, 'Priorities raised', count(*)
FROM priority_transitions WHERE direction = 'raised' AND changed_at >= $since::TIMESTAMPTZ
UNION ALL
SELECT 7, 'Priorities lowered', count(*)
FROM priority_transitions WHERE direction = 'lowered' AND changed_at >= $since::TIMESTAMPTZ
ORDER BY place;
