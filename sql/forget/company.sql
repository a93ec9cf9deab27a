-- The ids and addresses by which companies are recognized: their own, and those of their accounts.
--   $ids  the ids of the companies
WITH family AS (SELECT unnest($ids::VARCHAR[]) AS id)
SELECT DISTINCT part, value FROM (
  SELECT 'company' AS part, id AS value FROM family
  UNION ALL
  SELECT unnest(['account', 'source']), unnest([concat(platform, ':', platform_id), platform_id])
  FROM company_identities
  WHERE company_id IN (FROM family) AND NOT contains(platform_id, '@')
  UNION ALL
  SELECT 'address', platform_id
  FROM company_identities
  WHERE company_id IN (FROM family) AND contains(platform_id, '@')
  UNION ALL
  SELECT 'address', connections_email FROM companies WHERE id IN (FROM family)
)
WHERE trim(value) <> ''
ORDER BY ALL
