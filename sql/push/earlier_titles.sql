-- The titles that the topics in $ids had, and the names of the companies, as far as the warehouse has seen them.
SELECT topic_id AS id, title FROM topic_versions WHERE $entity_type = 'topic' AND topic_id IN (SELECT unnest($ids))
UNION
SELECT company_id, name FROM company_versions WHERE $entity_type = 'company' AND company_id IN (SELECT unnest($ids));
