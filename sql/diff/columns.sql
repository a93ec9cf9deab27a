-- In how many of the changed rows each column has another value. The joins hold hashes of the values, no texts.
--   {{old_hashes}}, {{new_hashes}}  a hash for each column
--   {{changed}}                     a count for each column, of those whose hashes differ
WITH changed AS (SELECT {{key}} FROM {{differing}} WHERE difference = 'changed'),
old_rows AS (SELECT {{key}}, {{old_hashes}} FROM {{old}} AS old_row),
new_rows AS (SELECT {{key}}, {{new_hashes}} FROM {{new}} AS new_row)
SELECT {{changed}}
FROM changed
JOIN old_rows USING ({{key}})
JOIN new_rows USING ({{key}})
