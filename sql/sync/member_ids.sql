-- The ids that are stored as members of a parent.
--
--   $child      the kind of document, e.g. 'company_groups'
--   $parent_id  the parent
SELECT id FROM raw.documents WHERE endpoint = $child AND parent_id = $parent_id
