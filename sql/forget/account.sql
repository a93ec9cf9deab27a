-- Everything by which accounts are recognized that belong to nobody in the list of people.
--   $ids  ids of authors
WITH accounts AS (SELECT * FROM authors WHERE id IN (SELECT unnest($ids::VARCHAR[])))
SELECT part, value FROM (
  SELECT 'author' AS part, id AS value FROM accounts
  UNION
  SELECT 'identity', concat(source_name, ':', source_author_id) FROM accounts
  UNION
  SELECT 'source_id', source_author_id FROM accounts
  UNION
  SELECT 'email', source_author_id FROM accounts WHERE contains(source_author_id, '@')
  UNION
  SELECT 'name', display_name FROM accounts
  UNION
  SELECT 'text', source_avatar_url FROM accounts
  UNION
  SELECT unnest(['message', 'source_id']), unnest([id, source_message_id])
  FROM messages
  WHERE author_id IN (SELECT id FROM accounts)
)
WHERE value IS NOT NULL AND trim(value) <> ''
ORDER BY part, value
