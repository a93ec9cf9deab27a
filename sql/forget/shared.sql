-- Which of these names and addresses somebody else has as well: they do not tell who is meant.
--   $type     person or company: what is forgotten
--   $ids      the ids of what is forgotten
--   $authors  the ids of the authors that are forgotten
--   $values   the names and addresses, in lower case
--   {{person}}, {{company}}  id, part and value of every column that says who a person or company is
WITH family AS (SELECT unnest($ids::VARCHAR[]) AS id),
held AS (
  SELECT 'person' AS type, id, value FROM ({{person}})
  UNION ALL
  SELECT 'company', id, value FROM ({{company}})
  UNION ALL
  SELECT 'person', person_id, platform_id FROM person_identities
  UNION ALL
  SELECT 'author', id, unnest([display_name, source_author_id, source_avatar_url]) FROM authors
  UNION ALL
  -- A domain of addresses of people elsewhere is no company's own.
  SELECT 'domain', coalesce(company_id, 'none'), split_part(primary_email, '@', 2) FROM people WHERE $type = 'company'
)
SELECT DISTINCT lower(value) AS value
FROM held
WHERE lower(value) IN (SELECT unnest($values::VARCHAR[]))
  AND NOT (type = $type AND id IN (FROM family))
  AND NOT (type = 'domain' AND id IN (FROM family))
  AND NOT (type = 'author' AND id IN (SELECT unnest($authors::VARCHAR[])))
