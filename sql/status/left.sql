-- What the last sync left due, from its own summary; no row before the first one has ended.
SELECT run_id, (summary->>'$.left.due')::BIGINT AS due, (summary->>'$.left.requests')::BIGINT AS requests,
  (summary->>'$.left.minutes')::DOUBLE AS minutes,
  coalesce((summary->>'$.left.complete')::BOOLEAN, true) AS complete,
  (SELECT is_complete FROM data_as_of) AS is_pulled, (SELECT requests_left FROM data_as_of) AS first_requests
FROM ops.runs
WHERE command = 'sync' AND (summary->>'$.left.due') IS NOT NULL
ORDER BY run_id DESC
LIMIT 1
