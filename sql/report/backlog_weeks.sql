-- The backlog of the 26 weeks up to that of the data, by priority and state, and what moved in each week.
SELECT week, priority, coalesce(lifecycle_state, 'unknown') AS state, sum(open)::BIGINT AS open,
  sum(new)::BIGINT AS new, sum(reopened)::BIGINT AS reopened, sum(closed)::BIGINT AS closed
FROM backlog_weekly, data_as_of
WHERE week > (as_of AT TIME ZONE 'UTC')::DATE - 26 * 7 AND week <= (as_of AT TIME ZONE 'UTC')::DATE
GROUP BY ALL
ORDER BY ALL;
