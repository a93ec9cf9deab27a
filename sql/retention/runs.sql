-- Runs that started before $before, except the last one of each command and outcome: `status` shows the last completed
-- sync, however long ago it was.
DELETE FROM ops.runs
WHERE started_at < $before
  AND run_id NOT IN (SELECT max(run_id) FROM ops.runs GROUP BY command, outcome)
