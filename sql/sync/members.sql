-- The documents that hang on one entity, and those of others that name it as one of theirs.
--
--   {{of}}      the kinds that hang on it, e.g. 'person_groups', 'person_identities'
--   {{naming}}  the kinds of others that name it, e.g. 'topic_people'; '' for none
--   {{id}}      the entity
SELECT endpoint, id, parent_id AS "parentId"
FROM raw.documents
WHERE endpoint IN ({{of}}) AND parent_id = {{id}}
  OR endpoint IN ({{naming}}) AND id = {{id}}
