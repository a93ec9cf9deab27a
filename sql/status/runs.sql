-- The last runs, newest first: the ids are in the order of the runs, whatever the clock said.
SELECT run_id, command, started_at, ended_at, outcome, exit_code, requests, rate_limited, rows_new, rows_changed,
  rows_removed, rejected, left_due, error
FROM ops.runs
ORDER BY run_id DESC
LIMIT 300
