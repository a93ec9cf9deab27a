-- Differences from the documentation that were not seen since $before, and of each endpoint and kind all but the newest 200.
DELETE FROM ops.schema_drift
WHERE last_seen_at < $before
  OR rowid NOT IN (
    SELECT rowid
    FROM ops.schema_drift
    QUALIFY row_number() OVER (PARTITION BY endpoint, kind ORDER BY last_seen_at DESC, first_seen_at, path) <= 200
  )
