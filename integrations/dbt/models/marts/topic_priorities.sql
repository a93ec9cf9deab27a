-- The open topics with what speaks for a higher priority: how fast they grow, and how large the companies behind them are.
WITH companies AS (
  SELECT
    topic_id,
    sum(employees)::BIGINT AS employees,
    count(*) FILTER (is_vip) AS vip_companies,
    string_agg(company_name, ', ' ORDER BY employees DESC, company_name) AS company_names
  FROM {{ source('signalhouse', 'company_topics') }}
  GROUP BY topic_id
),

waiting AS (
  SELECT topic_id, count(*) AS conversations_waiting, max(waiting_hours) AS longest_wait_hours
  FROM {{ source('signalhouse', 'awaiting_reply') }}
  GROUP BY topic_id
)

SELECT
  backlog.topic_id,
  backlog.title,
  backlog.priority,
  backlog.priority_rank,
  backlog.lifecycle_state,
  backlog.age_days,
  backlog.people,
  coalesce(companies.employees, 0) AS employees,
  coalesce(companies.vip_companies, 0) AS vip_companies,
  companies.company_names,
  momentum.messages_last_28_days,
  momentum.messages_28_days_before,
  momentum.has_doubled,
  coalesce(waiting.conversations_waiting, 0) AS conversations_waiting,
  waiting.longest_wait_hours
FROM {{ source('signalhouse', 'backlog') }} AS backlog
JOIN {{ source('signalhouse', 'topic_momentum') }} AS momentum USING (topic_id)
LEFT JOIN companies USING (topic_id)
LEFT JOIN waiting USING (topic_id)
