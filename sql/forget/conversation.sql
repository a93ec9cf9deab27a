-- The ids of conversations and their messages.
--   $ids  the ids of the conversations
SELECT part, value FROM (
  SELECT 'conversation' AS part, unnest($ids::VARCHAR[]) AS value
  UNION
  SELECT unnest(['message', 'source']), unnest([id, source_message_id])
  FROM messages
  WHERE group_id IN (SELECT unnest($ids::VARCHAR[]))
)
WHERE trim(value) <> ''
ORDER BY ALL
