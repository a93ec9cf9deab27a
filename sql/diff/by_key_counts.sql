-- How many rows differ, and whether the key tells the rows apart: where it does, as many rows of each file are in the other.
SELECT
  count(*) FILTER (difference = 'added') AS added,
  count(*) FILTER (difference = 'removed') AS removed,
  count(*) FILTER (difference = 'changed') AS changed,
  (SELECT count(*) FROM {{old}}) - removed = (SELECT count(*) FROM {{new}}) - added
    AND count(*) FILTER ({{null_key}}) = 0 AS is_key
FROM {{differing}}
