-- How fresh the children of each endpoint are: the oldest and the newest answer, and how many requests failed. A 404 is an
-- answer. A time in the future comes from a clock that was ahead; it counts as now. What was
-- only marked (touched) was never asked for.
SELECT endpoint, count(*) AS asked, least(min(fetched_at), now()) AS oldest_at, least(max(fetched_at), now()) AS newest_at,
  count(*) FILTER (error IS NOT NULL AND status IS DISTINCT FROM 404) AS failing
FROM ops.coverage
WHERE run_id IS NOT NULL
GROUP BY endpoint
ORDER BY endpoint
