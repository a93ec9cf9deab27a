-- Attempts older than $before at settled changes; those of an open change tell whether it was sent.
DELETE FROM ops.change_attempts
WHERE "at" < $before
  AND change_id NOT IN (SELECT id FROM ops.changes WHERE settled_at IS NULL)
