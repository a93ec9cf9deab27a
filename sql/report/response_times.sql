-- How fast staff answered, by the month of the question: the six months up to that of the data, from the first in which anybody
-- asked. A month without questions is there: a chart that leaves it out shows another course of time.
WITH asked AS (
  SELECT date_trunc('month', began_at AT TIME ZONE 'UTC') AS month, count(*) AS questions,
    count(answered_at) AS answered, median(hours_to_answer) AS median_hours,
    quantile_cont(hours_to_answer, 0.9) AS p90_hours
  FROM conversation_turns, data_as_of
  WHERE side = 'external' AND began_at <= as_of
    AND began_at AT TIME ZONE 'UTC' >= date_trunc('month', as_of AT TIME ZONE 'UTC') - INTERVAL 5 MONTH
  GROUP BY ALL),
months AS (
  SELECT unnest(generate_series((SELECT min(month) FROM asked),
    date_trunc('month', as_of AT TIME ZONE 'UTC'), INTERVAL 1 MONTH)) AS month
  FROM data_as_of)
SELECT month::DATE AS month, coalesce(questions, 0) AS questions, coalesce(answered, 0) AS answered,
  median_hours, p90_hours
FROM months LEFT JOIN asked USING (month)
ORDER BY months.month;
