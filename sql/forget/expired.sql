-- The messages and people that are too old, and of which something personal is still stored: in their own row, or in a copy
-- elsewhere. Only the rows of old ones are compared further. A time that is NULL is before nothing.
--   $before           the API deleted them before this
--   $messages_before  messages were written before this
--   $people_before    people were last seen before this
--   {{stored}}        the ids of the people of whom something personal is stored
WITH expired AS (SELECT id FROM messages WHERE deleted_at < $before OR created_at < $messages_before)
SELECT 'message' AS kind, id
FROM messages
WHERE id IN (FROM expired)
  AND (content IS NOT NULL OR title IS NOT NULL OR metadata IS NOT NULL)
UNION
-- Only the documents have copies of messages that are stored.
SELECT 'message', reply_to_id
FROM messages
JOIN raw.documents AS documents ON documents.endpoint = 'messages' AND documents.id = messages.id
WHERE reply_to_id IN (FROM expired) AND (documents.body ->> '$.replyTo.content') IS NOT NULL
UNION
SELECT 'message', thread_id
FROM messages
JOIN raw.documents AS documents ON documents.endpoint = 'messages' AND documents.id = messages.id
WHERE thread_id IN (FROM expired) AND (documents.body ->> '$.thread.content') IS NOT NULL
UNION
SELECT 'message', message_id
FROM message_quotes
WHERE content IS NOT NULL AND message_id IN (FROM expired)
UNION
-- Also where a topic or a colleague's company still names them.
SELECT 'person', id
FROM people
WHERE (deleted_at < $before OR last_seen_at < $people_before) AND (
  id IN ({{stored}})
  OR id IN (SELECT id FROM raw.documents WHERE endpoint = 'company_employees' AND (body ->> '$.name') IS NOT NULL)
)
