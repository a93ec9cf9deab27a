-- The names of what is being forgotten, without those that another person, company or account has too.
--   {{names}}  names.sql
--   $own       part and id of what is being forgotten, as part:id
WITH names AS ({{names}})
SELECT DISTINCT value
FROM names
WHERE concat(part, ':', id) IN (SELECT unnest($own::VARCHAR[]))
  AND lower(value) NOT IN (SELECT lower(value) FROM names WHERE concat(part, ':', id) NOT IN (SELECT unnest($own::VARCHAR[])))
