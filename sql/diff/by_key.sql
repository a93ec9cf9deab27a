-- The rows of a table that only one file has, or that differ, by the key of the table. Rows are compared by a hash of 64
-- bits, so that the join holds no texts.
--   {{differing}}             the table to make
--   {{old}}, {{new}}          the table in each file
--   {{key}}                   the columns of its key
--   {{old_row}}, {{new_row}}  the other columns that are compared
CREATE TEMP TABLE {{differing}} AS
WITH old_rows AS (SELECT {{key}}, hash({{old_row}}) AS row_hash FROM {{old}} AS old_row),
new_rows AS (SELECT {{key}}, hash({{new_row}}) AS row_hash FROM {{new}} AS new_row)
SELECT
  {{key}},
  CASE
    WHEN old_rows.row_hash IS NULL THEN 'added'
    WHEN new_rows.row_hash IS NULL THEN 'removed'
    ELSE 'changed'
  END AS difference
FROM old_rows
FULL JOIN new_rows USING ({{key}})
WHERE old_rows.row_hash IS DISTINCT FROM new_rows.row_hash
