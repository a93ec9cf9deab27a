-- Everything by which companies are recognized: their ids, accounts, names and addresses, wherever they are stored.
--   $ids  the ids of the companies
WITH family AS (SELECT unnest($ids::VARCHAR[]) AS id)
SELECT part, value FROM (
  SELECT 'company' AS part, id AS value FROM family
  UNION
  SELECT 'identity', concat(platform, ':', platform_id) FROM company_identities WHERE company_id IN (FROM family)
  UNION
  SELECT unnest(['source_id', 'text']), unnest([platform_id, platform_username]) FROM company_identities WHERE company_id IN (FROM family)
  UNION
  SELECT 'name', name FROM companies WHERE id IN (FROM family)
  UNION
  SELECT 'name', name FROM company_versions WHERE company_id IN (FROM family)
  UNION
  SELECT 'name', company_name FROM people WHERE company_id IN (FROM family)
  UNION
  SELECT 'name', company_name FROM topic_people WHERE company_id IN (FROM family)
  UNION
  SELECT 'name', source_name FROM merges WHERE entity_type = 'company' AND source_id IN (FROM family)
  UNION
  SELECT 'name', target_name FROM merges WHERE entity_type = 'company' AND target_id IN (FROM family)
  UNION
  SELECT 'name', unnest([changes ->> '$.name', previous_values ->> '$.name'])
  FROM history
  WHERE entity_type = 'company' AND entity_id IN (FROM family)
  UNION
  SELECT 'text', primary_domain FROM company_versions WHERE company_id IN (FROM family)
  UNION
  SELECT 'text', unnest([company_domain, company_logo_url]) FROM people WHERE company_id IN (FROM family)
  UNION
  SELECT 'text', unnest([company_domain, company_logo_url]) FROM topic_people WHERE company_id IN (FROM family)
  UNION
  SELECT 'text', unnest([
    primary_domain, logo_url, connections_email, connections_github, connections_linkedin, connections_phone,
    connections_twitter
  ])
  FROM companies
  WHERE id IN (FROM family)
)
WHERE value IS NOT NULL AND trim(value) <> ''
ORDER BY part, value
