-- The first rows that only one file has, by key.
--   {{file}}   the table in that file
--   {{label}}  an expression over one_row
SELECT {{key}}, {{label}} AS label
FROM (SELECT {{key}} FROM {{differing}} WHERE difference = $difference ORDER BY {{key}} LIMIT $limit) AS differing
JOIN {{file}} AS one_row USING ({{key}})
ORDER BY {{key}}
