-- The companies that write less than before, or wait for an answer.
WITH waiting AS (
  SELECT last_company_id AS company_id, count(*) AS conversations_waiting, max(waiting_hours) AS longest_wait_hours
  FROM {{ source('signalhouse', 'awaiting_reply') }}
  WHERE last_company_id IS NOT NULL
  GROUP BY last_company_id
)

SELECT
  health.company_id,
  health.name,
  health.is_vip,
  health.trend,
  health.days_silent,
  health.messages_28_days_before,
  health.messages_last_28_days,
  health.open_topics,
  health.urgent_topics,
  coalesce(waiting.conversations_waiting, 0) AS conversations_waiting,
  waiting.longest_wait_hours
FROM {{ source('signalhouse', 'company_health') }} AS health
LEFT JOIN waiting USING (company_id)
WHERE health.messages > 0
  AND (health.trend IN ('fading', 'silent') OR waiting.conversations_waiting > 0)
