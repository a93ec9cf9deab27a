-- How fresh each list is: when it was last read, when it last added up, and what it said it has.
SELECT endpoint, max(ended_at) AS read_at, max(ended_at) FILTER (verified) AS verified_at,
  arg_max(total_count, ended_at) AS total_count, arg_max(distinct_ids, ended_at) AS ids
FROM ops.scans
GROUP BY endpoint
ORDER BY endpoint
