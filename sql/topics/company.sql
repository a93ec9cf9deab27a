-- A company as its page shows it.
--
--   $id  the company
SELECT
  companies.id,
  companies.name,
  companies.primary_domain AS domain,
  coalesce(companies.is_vip, false) AS "isVip",
  companies.person_count AS people,
  companies.deleted_at AS "deletedAt",
  companies.merged_into_id AS "nextId",
  next.name AS "nextTitle",
  to_json(company_attributes) AS attributes
FROM companies
LEFT JOIN companies AS next ON next.id = companies.merged_into_id
LEFT JOIN company_attributes ON company_attributes.company_id = companies.id
WHERE companies.id = $id
