-- The changes of ours that this file has as done.
SELECT id
FROM ops.changes
WHERE status IN ('applied', 'unchanged')
