-- Versions that began or ended in the future do so now, a microsecond after each other: they stay in their order, and a
-- version that is found from now on begins after them.
--
--   {{now}}    the current time
--   {{table}}  the table of versions
--   {{key}}    its column with the id of the row
--   {{run_id}} this run
INSERT INTO ops.removed_rows
SELECT '{{table}}', [{{key}}, valid_from::VARCHAR], {{run_id}}, {{now}} FROM {{table}} WHERE valid_from > {{now}};
UPDATE {{table}} SET valid_from = moved.since, valid_to = moved.until, run_id = {{run_id}}
FROM (
  SELECT
    rowid AS rid,
    if(valid_from > {{now}}, {{now}} + to_microseconds(row_number() OVER in_order), valid_from) AS since,
    if(valid_to > {{now}}, {{now}} + to_microseconds(row_number() OVER in_order + 1), valid_to) AS until
  FROM {{table}}
  WHERE greatest(valid_from, valid_to) > {{now}}
  WINDOW in_order AS (PARTITION BY {{key}} ORDER BY valid_from)
) AS moved
WHERE {{table}}.rowid = moved.rid
