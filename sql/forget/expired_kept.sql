-- Whether a kept snapshot still has content of what the API deleted before $before. The live warehouse says what was
-- deleted: the snapshot may be older than that.
--   {{kept}}  the snapshot
SELECT 1
FROM {{kept}}.messages AS kept
JOIN messages USING (id)
WHERE messages.deleted_at < $before
  AND (kept.content IS NOT NULL OR kept.title IS NOT NULL)
UNION ALL
SELECT 1
FROM {{kept}}.people AS kept
JOIN people USING (id)
WHERE people.deleted_at < $before
  AND (kept.display_name IS NOT NULL OR kept.primary_email IS NOT NULL)
LIMIT 1
