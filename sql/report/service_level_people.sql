-- Who answered as promised: the twelve people, and every team, with the most answers to questions of the last 26 weeks.
WITH answered AS (
  SELECT answered_by_id, answered_by_name, team, is_breached
  FROM report_service_levels, data_as_of
  WHERE answered_at IS NOT NULL AND week > as_of - INTERVAL 26 WEEK AND began_at <= as_of
),
named AS (
  SELECT team AS name, true AS is_team, count(*) AS answers, count(*) FILTER (is_breached) AS late
  FROM answered
  WHERE team IS NOT NULL
  GROUP BY team
  UNION ALL
  SELECT coalesce(any_value(answered_by_name), answered_by_id, 'unknown'), false, count(*), count(*) FILTER (is_breached)
  FROM answered
  GROUP BY answered_by_id, if(answered_by_id IS NULL, answered_by_name, NULL)
)
SELECT name, is_team, answers, late
FROM named
QUALIFY is_team OR row_number() OVER (PARTITION BY is_team ORDER BY answers DESC, name) <= 12
ORDER BY is_team DESC, answers DESC, name;
