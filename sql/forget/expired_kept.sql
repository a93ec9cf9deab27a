-- Whether a kept snapshot still has content of what is too old (sql/forget/expired.sql). The live warehouse says what was
-- deleted and seen: the snapshot may be older than that.
--   {{kept}}  the snapshot
SELECT 1
FROM {{kept}}.messages AS kept
JOIN messages USING (id)
WHERE (messages.deleted_at < $before OR messages.created_at < $messages_before)
  AND (kept.content IS NOT NULL OR kept.title IS NOT NULL)
UNION ALL
SELECT 1
FROM {{kept}}.people AS kept
JOIN people USING (id)
WHERE (people.deleted_at < $before OR people.last_seen_at < $people_before)
  AND (kept.display_name IS NOT NULL OR kept.primary_email IS NOT NULL)
LIMIT 1
