-- The ids and addresses by which people are recognized: their own, and those of their accounts and messages.
--   $ids     the ids of the people
--   $emails  addresses, in lower case, of accounts that belong to no person who is listed
WITH family AS (SELECT unnest($ids::VARCHAR[]) AS id),
accounts AS (
  SELECT platform, platform_id FROM person_identities WHERE person_id IN (FROM family)
  UNION
  SELECT 'email', primary_email FROM people WHERE id IN (FROM family) AND primary_email IS NOT NULL
  UNION
  SELECT 'email', unnest([changes ->> '$.primaryEmail', previous_values ->> '$.primaryEmail'])
  FROM history
  WHERE entity_type = 'person' AND entity_id IN (FROM family)
  UNION
  SELECT 'email', unnest($emails::VARCHAR[])
),
their_authors AS (
  SELECT authors.id
  FROM authors
  JOIN accounts ON accounts.platform = authors.source_name AND accounts.platform_id = authors.source_author_id
    OR contains(accounts.platform_id, '@') AND lower(accounts.platform_id) = lower(authors.source_author_id)
)
SELECT DISTINCT part, value FROM (
  SELECT 'person' AS part, id AS value FROM family
  UNION ALL
  SELECT 'author', id FROM their_authors
  UNION ALL
  SELECT unnest(['message', 'source']), unnest([id, source_message_id])
  FROM messages
  WHERE author_id IN (FROM their_authors)
  UNION ALL
  SELECT unnest(['account', 'source']), unnest([concat(platform, ':', platform_id), platform_id])
  FROM accounts
  WHERE NOT contains(platform_id, '@')
  UNION ALL
  SELECT 'email', platform_id FROM accounts WHERE contains(platform_id, '@')
)
WHERE trim(value) <> ''
ORDER BY ALL
