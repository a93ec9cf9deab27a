-- depends_on: {{ source('signalhouse', 'topic_states') }}
-- The backlog at the end of each of the last twelve months, by priority. backlog_as_of is a table macro of the published
-- file. dbt knows only tables and views, so the line above says what it reads.
WITH days AS (
  SELECT (date_trunc('month', as_of) - to_months(months.n::INTEGER) - INTERVAL 1 DAY)::DATE AS month_end
  FROM {{ source('signalhouse', 'data_as_of') }}, range(12) AS months(n)
)

SELECT month_end, priority, priority_rank, count(*) AS topics, median(age_days) AS median_age_days
FROM days, LATERAL (FROM backlog_as_of(days.month_end))
GROUP BY month_end, priority, priority_rank
