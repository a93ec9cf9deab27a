-- The first changed rows, by key: what they are called, which columns differ (by position), and both values of each.
--   {{label}}   an expression over new_row
--   {{differ}}  the position of each column that differs, else NULL
--   {{values}}  both values of each column
SELECT
  {{key}},
  {{label}} AS label,
  list_filter([{{differ}}], lambda one: one IS NOT NULL) AS differ,
  {{values}}
FROM (SELECT {{key}} FROM {{differing}} WHERE difference = 'changed' ORDER BY {{key}} LIMIT $limit) AS differing
JOIN {{old}} AS old_row USING ({{key}})
JOIN {{new}} AS new_row USING ({{key}})
ORDER BY {{key}}
