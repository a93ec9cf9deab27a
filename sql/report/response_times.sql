-- How fast staff answered, by the month of the question: the six months up to that of the data.
SELECT date_trunc('month', began_at AT TIME ZONE 'UTC')::DATE AS month, count(*) AS questions,
  count(answered_at) AS answered, median(hours_to_answer) AS median_hours,
  quantile_cont(hours_to_answer, 0.9) AS p90_hours
FROM conversation_turns, data_as_of
WHERE side = 'external' AND began_at <= as_of
  AND began_at AT TIME ZONE 'UTC' >= date_trunc('month', as_of AT TIME ZONE 'UTC') - INTERVAL 5 MONTH
GROUP BY month
ORDER BY month;
