-- The rows that only one of two copies of a table has, and those that differ, with the first keys of both.
--   {{published}}, {{rebuilt}}  the table in each file
--   {{key}}                     its key as text; NULL for a table that has none
--   {{row_hash}}                a hash of the columns that both have
WITH both_copies AS (
  SELECT {{key}} AS key, {{row_hash}} AS row_hash, 1 AS copies FROM {{rebuilt}}
  UNION ALL
  SELECT {{key}}, {{row_hash}}, -1 FROM {{published}}
),
differing AS (
  SELECT key, sum(copies) AS more
  FROM both_copies
  GROUP BY key, row_hash
  HAVING sum(copies) <> 0
),
by_key AS (
  SELECT key, sum(greatest(more, 0)) AS more, sum(greatest(-more, 0)) AS missing
  FROM differing
  GROUP BY key
)
SELECT
  coalesce(sum(missing - least(more, missing)), 0)::BIGINT AS missing,
  coalesce(sum(more - least(more, missing)), 0)::BIGINT AS more,
  coalesce(sum(least(more, missing)), 0)::BIGINT AS different,
  coalesce(list(key ORDER BY key) FILTER (key IS NOT NULL), [])[:5] AS keys
FROM by_key
