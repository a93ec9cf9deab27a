-- What became of the changes that were queued or settled since the date, by status.
SELECT status, count(*) AS changes
FROM ops.changes
WHERE coalesce(settled_at, queued_at) >= $since::TIMESTAMPTZ
GROUP BY status
ORDER BY status;
