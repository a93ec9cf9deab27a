-- Rejected records that were not seen since $before, and of each kind all but the newest 1,000: those of ids that are others
-- each night add up. Not those of the last sync: they would be called new the next time.
DELETE FROM ops.rejected_records
WHERE run_id IS DISTINCT FROM (SELECT max(run_id) FROM ops.runs WHERE command = 'sync')
  AND (
    last_seen_at < $before
    OR rowid NOT IN (
      SELECT rowid
      FROM ops.rejected_records
      QUALIFY row_number() OVER (PARTITION BY endpoint ORDER BY resolved_at IS NULL DESC, last_seen_at DESC) <= 1000
    )
  )
