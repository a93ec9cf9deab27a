-- The lists of conversations of those who wrote in some conversations: that of each person, and that of the person's company.
--
--   $ids  the conversations
WITH writers AS (
  SELECT DISTINCT person_identities.person_id
  FROM main.messages
  JOIN main.authors ON authors.id = messages.author_id
  JOIN main.person_identities
    ON person_identities.platform = authors.source_name
    AND person_identities.platform_id = authors.source_author_id
  WHERE list_contains($ids, messages.group_id)
)
SELECT 'person_groups' AS child, person_id AS "entityId"
FROM writers
UNION
SELECT 'company_groups', people.company_id
FROM writers
JOIN main.people ON people.id = writers.person_id
WHERE people.company_id IS NOT NULL
