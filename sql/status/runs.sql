-- The last runs, newest first; those that began in the future, by a clock that was ahead, come last.
SELECT run_id, command, started_at, ended_at, outcome, exit_code, requests, rate_limited, rows_new, rows_changed,
  rows_removed, rejected, left_due, error
FROM ops.runs
ORDER BY started_at > now(), run_id DESC
LIMIT 300
