-- A company takes part where its own list says so, and where one of its people does: what comes with topics is not always read
-- again with the company.
WITH links AS (
  SELECT id AS group_id, parent_id AS company_id, true AS is_listed, fetched_at AS synced_at, run_id
  FROM raw.documents
  WHERE endpoint = 'company_groups'
  UNION ALL
  SELECT
    group_people.group_id,
    people.company_id,
    false,
    greatest(group_people.synced_at, people.synced_at),
    greatest(group_people.run_id, people.run_id)
  FROM group_people
  JOIN people ON people.id = group_people.person_id AND people.deleted_at IS NULL
  JOIN companies ON companies.id = people.company_id AND companies.deleted_at IS NULL
)
SELECT
  group_id,
  company_id,
  coalesce(max(synced_at) FILTER (is_listed), max(synced_at)) AS synced_at,
  coalesce(max(run_id) FILTER (is_listed), max(run_id)) AS run_id
FROM links
GROUP BY group_id, company_id
