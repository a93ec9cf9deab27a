-- The ids that are stored as members of (endpoint, parent).
--
--   {{child}}      the kind of document, e.g. 'company_groups'
--   {{parent_id}}  whose members they are
SELECT id FROM raw.documents WHERE endpoint = {{child}} AND parent_id = {{parent_id}}
