-- A person's own record says where they work. Of somebody who is in no list, only colleagues say it: the company that is in a
-- person's record names its employees, perhaps not all of them.
SELECT company_id, id AS person_id, display_name AS name, avatar_url
FROM people
WHERE company_id IS NOT NULL AND deleted_at IS NULL AND company_id NOT IN (SELECT id FROM companies WHERE deleted_at IS NOT NULL)
UNION ALL
SELECT parent_id, id, body ->> '$.name', body ->> '$.avatarUrl'
FROM raw.documents
WHERE endpoint = 'company_employees' AND id NOT IN (SELECT id FROM people)
