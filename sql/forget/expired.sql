-- The messages and people that the API deleted before $before, and of which something personal is still stored: in their
-- own row, or in a copy elsewhere. Only the rows of deleted ones are compared further.
--   {{stored}}  the ids of the people of whom something personal is stored
WITH deleted AS (SELECT id FROM messages WHERE deleted_at < $before)
SELECT 'message' AS kind, id
FROM messages
WHERE deleted_at < $before
  AND (content IS NOT NULL OR title IS NOT NULL OR metadata IS NOT NULL)
UNION
SELECT 'message', reply_to_id
FROM messages
WHERE reply_to_id IN (FROM deleted) AND (reply_to ->> '$.content') IS NOT NULL
UNION
SELECT 'message', thread_id
FROM messages
WHERE thread_id IN (FROM deleted) AND (thread ->> '$.content') IS NOT NULL
UNION
SELECT 'message', message_id
FROM message_quotes
WHERE content IS NOT NULL AND message_id IN (FROM deleted)
UNION
-- Also where a topic or a colleague's company still names them.
SELECT 'person', id
FROM people
WHERE deleted_at < $before AND id IN ({{stored}})
