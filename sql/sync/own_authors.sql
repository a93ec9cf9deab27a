-- The authors that are a person, or a person of a company.
--
--   $child      'company_groups' or 'person_groups'
--   $parent_id  the company or the person
SELECT authors.id
FROM main.people
JOIN main.person_identities ON person_identities.person_id = people.id
JOIN main.authors
  ON authors.source_name = person_identities.platform
  AND authors.source_author_id = person_identities.platform_id
WHERE CASE WHEN $child = 'company_groups' THEN people.company_id ELSE people.id END = $parent_id
