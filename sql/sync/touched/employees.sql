-- One person of each company whose employees went with a tombstone, and which is back: the detail of a person has them.
SELECT min(link.parent_id), max(link.answer_no)
FROM raw.documents AS link
ANTI JOIN (SELECT parent_id FROM raw.documents WHERE endpoint = 'company_employees') AS employee
  ON employee.parent_id = link.id
ANTI JOIN (
  SELECT id FROM raw.documents WHERE endpoint = 'company_presence' AND (body ->> '$.deletedAt') IS NOT NULL
) AS deleted ON deleted.id = link.id
WHERE link.endpoint = 'person_companies'
GROUP BY link.id
