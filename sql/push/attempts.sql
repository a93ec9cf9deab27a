-- The requests that were made for one change, oldest first.
SELECT "at", attempt, method, path, status, error_code, request_id, idempotency_key, ms, run_id
FROM ops.change_attempts
WHERE change_id = $change_id
ORDER BY "at", attempt
