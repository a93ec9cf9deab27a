-- The backlog by priority and state; a topic without one of them counts under NULL.
SELECT priority, coalesce(lifecycle_state, 'unknown') AS state, count(*) AS topics
FROM report_backlog
GROUP BY ALL
ORDER BY ALL;
