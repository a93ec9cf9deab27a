-- Which changes a change puts back (signalhouse changes undo).

ALTER TABLE ops.changes ADD COLUMN undoes VARCHAR[];
COMMENT ON COLUMN ops.changes.undoes IS 'The changes (ops.changes.id) that this one puts back. NULL for a change that undoes none.';
COMMENT ON COLUMN ops.changes.remote_before IS 'What the API had in those columns right before it was sent, or when the conflict was found. signalhouse changes undo puts this back.';
