-- Runs that started before $before, but for the last one of each command and outcome: `status` tells of the last sync
-- that came to its end, however long ago that was.
DELETE FROM ops.runs
WHERE started_at < $before
  AND run_id NOT IN (SELECT max(run_id) FROM ops.runs GROUP BY command, outcome)
