-- Whether questions were answered as promised, by the week of the question: the last 26 weeks. Those that still wait and are in
-- time count in none of them.
SELECT week, service_level, count(*) FILTER (NOT is_breached) AS in_time, count(*) FILTER (is_breached) AS late,
  count(*) FILTER (is_breached AND answered_at IS NULL) AS waiting
FROM report_service_levels, data_as_of
WHERE (answered_at IS NOT NULL OR is_breached) AND week > as_of - INTERVAL 26 WEEK AND began_at <= as_of
GROUP BY week, service_level
ORDER BY week, service_level;
