-- The lists of conversations of those who wrote in conversations that no stored list will have: that of each person, and that of the
-- person's company.
--
--   $endpoints, $ids, $parents  the conversations that lists lose, as documents, as lists of the same length
--   $kinds                      all kinds of lists of conversations
WITH lost AS (
  SELECT
    unnest($endpoints::VARCHAR[]) AS endpoint,
    unnest($ids::VARCHAR[]) AS id,
    unnest($parents::VARCHAR[]) AS parent_id
),
elsewhere AS (
  SELECT id
  FROM raw.documents
  ANTI JOIN lost USING (endpoint, id, parent_id)
  WHERE list_contains($kinds, endpoint) AND id IN (SELECT id FROM lost)
),
writers AS (
  SELECT DISTINCT person_identities.person_id
  FROM lost
  ANTI JOIN elsewhere USING (id)
  JOIN main.messages ON messages.group_id = lost.id
  JOIN main.authors ON authors.id = messages.author_id
  JOIN main.person_identities
    ON person_identities.platform = authors.source_name
    AND person_identities.platform_id = authors.source_author_id
)
SELECT 'person_groups' AS child, person_id AS "entityId"
FROM writers
UNION
SELECT 'company_groups', people.company_id
FROM writers
JOIN main.people ON people.id = writers.person_id
WHERE people.company_id IS NOT NULL
