-- Where the API differs from its documentation.
SELECT endpoint, path, kind, occurrences, first_seen_at
FROM ops.schema_drift
ORDER BY first_seen_at DESC, endpoint, path
