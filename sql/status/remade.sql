-- Tables that the last days made again, because the program declares them otherwise than the one before.
SELECT name AS "table", applied_at AS at
FROM ops.migrations
WHERE version IS NULL
  AND applied_at > (SELECT min(applied_at) FROM ops.migrations)
  AND applied_at > (SELECT max(started_at) FROM ops.runs) - INTERVAL 7 DAY
ORDER BY applied_at, name
