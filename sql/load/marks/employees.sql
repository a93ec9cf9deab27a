-- One person of each company that a person belongs to whom company_employees does not have: that person was deleted and is
-- back, or the list of people names companies without their employees. The detail of a person has them. None of a company of
-- which one is marked already.
SELECT min(link.parent_id) AS entity_id, max(link.answer_no) AS answer_no
FROM raw.documents AS link
ANTI JOIN (SELECT id, parent_id FROM raw.documents WHERE endpoint = 'company_employees') AS employee
  ON employee.parent_id = link.id AND employee.id = link.parent_id
ANTI JOIN (
  SELECT id FROM raw.documents WHERE endpoint = 'company_presence' AND (body ->> '$.deletedAt') IS NOT NULL
) AS deleted ON deleted.id = link.id
ANTI JOIN (
  SELECT colleague.id
  FROM ops.coverage AS asked
  JOIN raw.documents AS colleague ON colleague.endpoint = 'person_companies' AND colleague.parent_id = asked.entity_id
  WHERE asked.endpoint = 'person' AND asked.touched > coalesce(asked.asked_no, -1)
) AS marked ON marked.id = link.id
WHERE link.endpoint = 'person_companies'
  AND link.id IN (
    SELECT id FROM writes WHERE endpoint = 'person_companies'
    UNION
    SELECT id FROM writes WHERE endpoint = 'company_presence'
    UNION
    SELECT parent_id FROM deletes WHERE endpoint = 'company_employees'
  )
GROUP BY link.id
