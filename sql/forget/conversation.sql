-- The ids of conversations and their messages.
--   $ids  the ids of the conversations
SELECT 'conversation' AS part, unnest($ids::VARCHAR[]) AS value
UNION
SELECT 'message', id FROM messages WHERE group_id IN (SELECT unnest($ids::VARCHAR[]))
ORDER BY ALL
