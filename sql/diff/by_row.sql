-- The same for a table without a key that tells its rows apart: how often only one file has a row.
--   {{differing}}             the table to make
--   {{old}}, {{new}}          the table in each file
--   {{old_row}}, {{new_row}}  the columns that are compared
CREATE TEMP TABLE {{differing}} AS
SELECT row_hash, sum(times)::BIGINT AS times
FROM (
  SELECT hash({{new_row}}) AS row_hash, 1 AS times FROM {{new}} AS new_row
  UNION ALL
  SELECT hash({{old_row}}), -1 FROM {{old}} AS old_row
)
GROUP BY row_hash
HAVING sum(times) <> 0
