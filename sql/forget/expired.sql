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
UNION
-- A topic and a colleague's company may still name them.
SELECT 'person', topic_people.person_id
FROM topic_people
JOIN people ON people.id = topic_people.person_id
WHERE people.deleted_at < $before AND coalesce(topic_people.display_name, topic_people.title, topic_people.avatar_url) IS NOT NULL
UNION
SELECT 'person', company_employees.person_id
FROM company_employees
JOIN people ON people.id = company_employees.person_id
WHERE people.deleted_at < $before AND coalesce(company_employees.name, company_employees.avatar_url) IS NOT NULL
