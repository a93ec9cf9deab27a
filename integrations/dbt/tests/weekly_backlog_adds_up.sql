-- Open is what was open the week before, plus new and reopened, minus closed. Returns the weeks in which it is not.
SELECT *
FROM (
  SELECT *, lag(open_topics, 1, 0) OVER (ORDER BY week) AS open_before
  FROM {{ ref('weekly_overview') }}
)
WHERE open_topics <> open_before + new_topics + reopened_topics - closed_topics
