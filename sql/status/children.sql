-- How fresh the children of each endpoint are: the oldest and the newest answer, and how many requests failed.
SELECT endpoint, count(*) AS asked, min(fetched_at) AS oldest_at, max(fetched_at) AS newest_at,
  count(*) FILTER (error IS NOT NULL) AS failing
FROM ops.coverage
GROUP BY endpoint
ORDER BY endpoint
