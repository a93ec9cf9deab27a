-- What plans have changed in each table since the last sync that came to its end: for the next one it is new.
SELECT (summary -> '$.rows')::VARCHAR AS rows
FROM ops.runs
WHERE command = 'plan'
  AND summary IS NOT NULL
  AND run_id > coalesce((SELECT max(run_id) FROM ops.runs WHERE command = 'sync' AND ended_at IS NOT NULL), '')
