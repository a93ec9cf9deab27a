-- One run, with the summary that --json prints.
SELECT run_id, command, started_at, ended_at, outcome, exit_code, requests, rate_limited, rows_new, rows_changed,
  rows_removed, rejected, left_due, error, program_version, pid, summary
FROM ops.runs
WHERE run_id = $run_id
