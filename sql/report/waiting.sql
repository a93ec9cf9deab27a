-- How long the conversations wait in which somebody from outside wrote last.
SELECT
  CASE
    WHEN waiting_hours < 24 THEN 1
    WHEN waiting_hours < 72 THEN 2
    WHEN waiting_hours < 168 THEN 3
    WHEN waiting_hours < 672 THEN 4
    WHEN waiting_hours < 2160 THEN 5
    ELSE 6
  END AS bucket,
  count(*) FILTER (is_vip) AS vip,
  count(*) FILTER (NOT is_vip) AS others
FROM report_waiting
GROUP BY bucket
ORDER BY bucket;
