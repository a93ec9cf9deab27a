-- The messages and people that the API deleted before $before, and of which something personal is still stored: in their
-- own row, or in a copy inside another message. Only the rows of deleted ones are compared further.
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
SELECT 'person', id
FROM people
WHERE deleted_at < $before AND (
  display_name IS NOT NULL OR primary_email IS NOT NULL OR description IS NOT NULL OR avatar_url IS NOT NULL
  OR coalesce(
    connections_github, connections_linkedin, connections_phone, connections_title, connections_twitter,
    connections_website
  ) IS NOT NULL
)
