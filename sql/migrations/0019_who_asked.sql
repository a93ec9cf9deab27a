-- Who asked is a person or nobody: the user of a service says nothing.

COMMENT ON COLUMN ops.changes.requested_by IS 'The person who requested it: --by, the folder in the drop folder, who saved the file last, or the user at the terminal. NULL when nobody was named.';
COMMENT ON COLUMN ops.changes.error_code IS 'The API''s code or reason (http_ and the status where it gave none), or ours: conflict (somebody else changed it), contested (somebody else wants another value), not_found, refused (the key), refused_item (the API refused this company of several), not_seen (answered with success, but not made), no_answer (it may have been applied), not_read (what the API has could not be read), not_sent (its endpoint gave no usable answer). NULL when all went well.';
COMMENT ON COLUMN ops.changes.remote_before IS 'What the API had in those columns right before it was sent, with updated_at where it has one, or when the conflict was found. signalhouse changes undo puts this back.';
