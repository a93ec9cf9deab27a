-- The last sync that ended: whether it came to its end, and what it gave up.
SELECT run_id AS "runId", ended_at AS "endedAt", outcome, summary ->> '$.stoppedBy' AS "stoppedBy", left_due AS "leftDue",
  coalesce((summary ->> '$.left.complete')::BOOLEAN, true) AS complete,
  (SELECT list(failure ->> '$.endpoint') FROM (SELECT unnest(from_json(summary -> '$.failures', '["JSON"]')) AS failure)
    WHERE (failure ->> '$.entityId') IS NULL) AS "failedResources"
FROM ops.runs
WHERE command = 'sync' AND ended_at IS NOT NULL
ORDER BY run_id DESC
LIMIT 1
