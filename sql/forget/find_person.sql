-- The people with this id or address.
--   $ids     ids
--   $emails  addresses, in lower case
SELECT id, lower(primary_email) AS email FROM people WHERE id IN (SELECT unnest($ids::VARCHAR[])) OR lower(primary_email) IN (SELECT unnest($emails::VARCHAR[]))
UNION
SELECT person_id, lower(platform_id) FROM person_identities WHERE person_id IN (SELECT unnest($ids::VARCHAR[])) OR lower(platform_id) IN (SELECT unnest($emails::VARCHAR[]))
UNION
SELECT person_id, NULL FROM topic_people WHERE person_id IN (SELECT unnest($ids::VARCHAR[]))
UNION
SELECT person_id, NULL FROM company_employees WHERE person_id IN (SELECT unnest($ids::VARCHAR[]))
UNION
SELECT entity_id, NULL FROM history WHERE entity_type = 'person' AND entity_id IN (SELECT unnest($ids::VARCHAR[]))
UNION
SELECT unnest([source_id, target_id]), NULL FROM merges
WHERE entity_type = 'person' AND (source_id IN (SELECT unnest($ids::VARCHAR[])) OR target_id IN (SELECT unnest($ids::VARCHAR[])))
