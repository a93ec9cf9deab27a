-- A company takes part where its own list says so, and where one of its people does: what comes with topics is not always read
-- again with the company.
SELECT id AS group_id, parent_id AS company_id
FROM raw.documents
WHERE endpoint = 'company_groups'
UNION
SELECT group_people.group_id, people.company_id
FROM group_people
JOIN people ON people.id = group_people.person_id AND people.deleted_at IS NULL
JOIN companies ON companies.id = people.company_id AND companies.deleted_at IS NULL
