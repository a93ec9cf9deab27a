-- Scans that ended before $before, except the last one of each list and its last verified one, which tell how fresh the
-- list is.
DELETE FROM ops.scans
WHERE ended_at < $before
  AND (endpoint, run_id) NOT IN (SELECT (endpoint, max(run_id)) FROM ops.scans GROUP BY endpoint, verified)
