-- One person of each company that employs somebody whom its employees do not have: they went with a tombstone and are back, or
-- the list of people says who works there and has no employees. The detail of a person has them.
SELECT min(link.parent_id), max(link.answer_no)
FROM raw.documents AS link
ANTI JOIN (SELECT id, parent_id FROM raw.documents WHERE endpoint = 'company_employees') AS employee
  ON employee.parent_id = link.id AND employee.id = link.parent_id
ANTI JOIN (
  SELECT id FROM raw.documents WHERE endpoint = 'company_presence' AND (body ->> '$.deletedAt') IS NOT NULL
) AS deleted ON deleted.id = link.id
WHERE link.endpoint = 'person_companies'
GROUP BY link.id
