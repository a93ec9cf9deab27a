-- The conversations that the lists of deleted entities had, as documents.
--
--   $kinds, $lists  the kinds of those lists, e.g. person_groups, and the list of the entities of each, as lists of the same length
SELECT documents.endpoint, documents.id, documents.parent_id AS "parentId"
FROM raw.documents
JOIN (SELECT unnest($kinds::VARCHAR[]) AS endpoint, unnest($lists::VARCHAR[]) AS list) AS kinds USING (endpoint)
JOIN ops.entities AS gone ON gone.list = kinds.list AND gone.entity_id = documents.parent_id
WHERE gone.deleted_at IS NOT NULL
