-- Records that are still rejected, with an example of the reason.
SELECT endpoint, count(*) AS records, max(last_seen_at) AS last_seen_at,
  arg_max(path || ': ' || reason, last_seen_at) AS example
FROM ops.rejected_records
WHERE resolved_at IS NULL
GROUP BY endpoint
ORDER BY records DESC, endpoint
