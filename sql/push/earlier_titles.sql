-- The titles that the topics in $ids had, and the names of the companies, as far as the warehouse has seen them.
SELECT DISTINCT id, title
FROM (
  SELECT topic_id AS id, title FROM topic_versions WHERE $entity_type = 'topic'
  UNION ALL
  SELECT company_id, name FROM company_versions WHERE $entity_type = 'company'
  UNION ALL
  SELECT entity_id, unnest([
    previous_values ->> '$.title', changes ->> '$.title', previous_values ->> '$.name', changes ->> '$.name'
  ])
  FROM history
  WHERE entity_type = $entity_type AND entity_id IN (SELECT unnest($ids))
)
WHERE title IS NOT NULL AND id IN (SELECT unnest($ids));
