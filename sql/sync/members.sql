-- The documents that hang on one entity, of certain kinds.
--
--   $kinds      the kinds, e.g. 'topic_groups', 'topic_people'
--   $parent_id  the entity
SELECT endpoint, id, parent_id AS "parentId"
FROM raw.documents
WHERE endpoint IN ($kinds) AND parent_id = $parent_id
