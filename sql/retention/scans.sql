-- Readings of lists that ended before $before, but for the last one of each list and its last verified one, from which
-- the freshness of the list is told.
DELETE FROM ops.scans
WHERE ended_at < $before
  AND (endpoint, ended_at) NOT IN (SELECT (endpoint, max(ended_at)) FROM ops.scans GROUP BY endpoint, verified)
