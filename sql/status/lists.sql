-- How fresh each list is: when it was last read and last verified, its total, and why the last reading was not verified.
-- Stories of a full bucket are complete, though not verified: the API returns no more of them.
-- A list that could not be read (form 'failed') only leaves its note. Which reading is the last one, the runs tell: a time in
-- the future comes from a clock that was ahead, and counts as now.
WITH readings AS (
  SELECT *, {'run_id': run_id, 'ended_at': ended_at} AS place,
    CASE WHEN ended_at > now() THEN now() ELSE ended_at END AS "at"
  FROM ops.scans
)
SELECT endpoint, arg_max("at", place) FILTER (form IS DISTINCT FROM 'failed') AS read_at,
  arg_max("at", place) FILTER (verified) AS verified_at,
  arg_max("at", place) FILTER (verified OR form = 'full bucket') AS complete_at,
  arg_max(total_count, place) AS total_count,
  arg_max(distinct_ids, place) FILTER (form IS DISTINCT FROM 'failed') AS ids,
  CASE WHEN NOT arg_max(verified, place) THEN arg_max(note, place) FILTER (NOT verified) END AS note
FROM readings
GROUP BY endpoint
ORDER BY endpoint
