-- The conversations, and their messages here and in their source.
--   $ids  the ids of the conversations
SELECT part, value FROM (
  SELECT 'conversation' AS part, unnest($ids::VARCHAR[]) AS value
  UNION
  SELECT unnest(['message', 'source_id']), unnest([id, source_message_id])
  FROM messages
  WHERE group_id IN (SELECT unnest($ids::VARCHAR[]))
)
WHERE value IS NOT NULL
ORDER BY part, value
