-- The rejected records of an entity, and of what belongs to it, newest first.
--
--   $id        its id
--   $kinds     the kinds of documents that are about it
--   $children  the kinds of documents that belong to it
SELECT endpoint, id, path, reason, first_seen_at AS "firstSeenAt", last_seen_at AS "lastSeenAt",
  seen_count AS "seenCount", resolved_at AS "resolvedAt", run_id AS "runId"
FROM ops.rejected_records
WHERE (id = $id AND list_contains($kinds, endpoint)) OR (parent_id = $id AND list_contains($children, endpoint))
ORDER BY resolved_at IS NOT NULL, last_seen_at DESC, path
