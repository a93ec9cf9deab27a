-- Lists of the last sync whose deletions the deletion limit held back.
WITH last AS (
  SELECT summary FROM ops.runs
  WHERE command = 'sync' AND summary IS NOT NULL
  ORDER BY run_id DESC
  LIMIT 1
)
SELECT scan->>'$.endpoint' AS endpoint
FROM (SELECT unnest((summary->'$.scans')::JSON[]) AS scan FROM last)
WHERE (scan->>'$.fused')::BOOLEAN
ORDER BY endpoint
