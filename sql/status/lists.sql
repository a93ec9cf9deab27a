-- How fresh each list is: when it was last read and last verified, its total, and why the last reading was not verified.
-- A list that could not be read (form 'failed') only leaves its note.
SELECT endpoint, max(ended_at) FILTER (form IS DISTINCT FROM 'failed') AS read_at,
  max(ended_at) FILTER (verified) AS verified_at,
  arg_max(total_count, ended_at) AS total_count,
  arg_max(distinct_ids, ended_at) FILTER (form IS DISTINCT FROM 'failed') AS ids,
  CASE WHEN NOT arg_max(verified, ended_at) THEN arg_max(note, ended_at) FILTER (NOT verified) END AS note
FROM ops.scans
GROUP BY endpoint
ORDER BY endpoint
