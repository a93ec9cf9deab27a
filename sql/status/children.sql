-- How fresh the children of each endpoint are: the oldest and the newest answer, and how many requests failed. A time in
-- the future comes from a clock that was ahead; it counts as now.
WITH asked AS (
  SELECT endpoint, error, CASE WHEN fetched_at > now() THEN now() ELSE fetched_at END AS fetched_at FROM ops.coverage
)
SELECT endpoint, count(*) AS asked, min(fetched_at) AS oldest_at, max(fetched_at) AS newest_at,
  count(*) FILTER (error IS NOT NULL) AS failing
FROM asked
GROUP BY endpoint
ORDER BY endpoint
