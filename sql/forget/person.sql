-- Everything by which people are recognized: their ids, accounts, names and addresses, wherever they are stored.
--   $ids            the ids of the people
--   {{recognized}}  id, part and value of every column that says who a person is
WITH family AS (SELECT unnest($ids::VARCHAR[]) AS id),
accounts AS (
  SELECT platform, platform_id
  FROM person_identities
  WHERE person_id IN (FROM family)
  UNION
  SELECT 'email', primary_email
  FROM people
  WHERE id IN (FROM family) AND primary_email IS NOT NULL
),
their_authors AS (
  SELECT authors.*
  FROM authors
  JOIN accounts ON accounts.platform = authors.source_name AND accounts.platform_id = authors.source_author_id
),
history_values AS (
  SELECT unnest([changes ->> '$.displayName', previous_values ->> '$.displayName']) AS name,
    unnest([changes ->> '$.primaryEmail', previous_values ->> '$.primaryEmail']) AS email
  FROM history
  WHERE entity_type = 'person' AND entity_id IN (FROM family)
)
SELECT part, value FROM (
  SELECT 'person' AS part, id AS value FROM family
  UNION
  SELECT 'author', id FROM their_authors
  UNION
  SELECT unnest(['message', 'source_id']), unnest([id, source_message_id])
  FROM messages
  WHERE author_id IN (SELECT id FROM their_authors)
  UNION
  SELECT 'identity', concat(platform, ':', platform_id) FROM accounts
  UNION
  SELECT 'source_id', platform_id FROM accounts
  UNION
  SELECT 'email', platform_id FROM accounts WHERE contains(platform_id, '@')
  UNION
  SELECT part, value FROM ({{recognized}}) WHERE id IN (FROM family)
  UNION
  SELECT 'name', display_name FROM their_authors
  UNION
  SELECT 'name', source_name FROM merges WHERE entity_type = 'person' AND source_id IN (FROM family)
  UNION
  SELECT 'name', target_name FROM merges WHERE entity_type = 'person' AND target_id IN (FROM family)
  UNION
  SELECT 'name', name FROM history_values
  UNION
  SELECT unnest(['email', 'text']), email FROM history_values
  UNION
  SELECT 'text', source_avatar_url FROM their_authors
)
WHERE value IS NOT NULL AND trim(value) <> ''
ORDER BY part, value
