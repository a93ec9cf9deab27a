-- Documents that something newer contradicts, and that no other answer would ever bring up to date.
--
--   $people, $companies  people whose company's conversations were read after it was known that it is theirs, and the company of
--                        each; none where the conversations of people with a company are fetched
--
-- A person's own conversations: those that the company lists as well, and all of them where the company's were fetched later.
SELECT listed.endpoint, listed.id, listed.parent_id AS "parentId"
FROM (SELECT unnest($people::VARCHAR[]) AS person_id, unnest($companies::VARCHAR[]) AS company_id) AS person
JOIN raw.documents AS listed ON listed.endpoint = 'person_groups' AND listed.parent_id = person.person_id
JOIN ops.coverage AS own ON own.endpoint = 'person_groups' AND own.entity_id = person.person_id
JOIN ops.coverage AS company ON company.endpoint = 'company_groups' AND company.entity_id = person.company_id
WHERE company.answer_no > own.answer_no
  OR listed.id IN (SELECT id FROM raw.documents WHERE endpoint = 'company_groups' AND parent_id = person.company_id)
UNION ALL
-- The people of a topic that was listed again and then gone again, before a run that came to its end had seen it.
SELECT person.endpoint, person.id, person.parent_id
FROM raw.documents AS person
JOIN main.topics ON topics.id = person.parent_id
WHERE person.endpoint = 'topic_persons' AND topics.deleted_at IS NOT NULL
UNION ALL
-- The people that the list named of a topic, and whom the topic's own list, read later and not in doubt, does not name.
SELECT person.endpoint, person.id, person.parent_id
FROM raw.documents AS person
JOIN ops.coverage AS own
  ON own.endpoint = 'topic_people' AND own.entity_id = person.parent_id AND own.answer_no > person.answer_no
ANTI JOIN (SELECT id, parent_id FROM raw.documents WHERE endpoint = 'topic_people') AS named
  ON named.id = person.id AND named.parent_id = person.parent_id
WHERE person.endpoint = 'topic_persons' AND own.status = 200 AND own.error IS NULL AND own.reason IS NULL
ORDER BY 1, 3, 2
