-- Everything by which companies are recognized: their ids, accounts, names and addresses, wherever they are stored.
--   $ids            the ids of the companies
--   {{recognized}}  id, part and value of every column that says which company it is
WITH family AS (SELECT unnest($ids::VARCHAR[]) AS id)
SELECT part, value FROM (
  SELECT 'company' AS part, id AS value FROM family
  UNION
  SELECT 'identity', concat(platform, ':', platform_id) FROM company_identities WHERE company_id IN (FROM family)
  UNION
  SELECT 'source_id', platform_id FROM company_identities WHERE company_id IN (FROM family)
  UNION
  SELECT part, value FROM ({{recognized}}) WHERE id IN (FROM family)
  UNION
  SELECT 'name', source_name FROM merges WHERE entity_type = 'company' AND source_id IN (FROM family)
  UNION
  SELECT 'name', target_name FROM merges WHERE entity_type = 'company' AND target_id IN (FROM family)
  UNION
  SELECT 'name', unnest([changes ->> '$.name', previous_values ->> '$.name'])
  FROM history
  WHERE entity_type = 'company' AND entity_id IN (FROM family)
)
WHERE value IS NOT NULL AND trim(value) <> ''
ORDER BY part, value
