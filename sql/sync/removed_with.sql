-- The documents that are removed with an entity: those that belong to it, and those of others that name it.
--
--   $belonging  the kinds that belong to it, e.g. person_groups, person_identities. One that is a single object has no parent,
--               but the id of the entity: company_activity.
--   $naming     the kinds of others that name it, e.g. topic_people
--   $id         the entity
SELECT endpoint, id, parent_id AS "parentId"
FROM raw.documents
WHERE list_contains($belonging, endpoint) AND coalesce(parent_id, id) = $id
  OR list_contains($naming, endpoint) AND id = $id
