-- The backlog and the messages of each week, side by side.
WITH backlog AS (
  SELECT
    week,
    sum(open)::BIGINT AS open_topics,
    sum(new)::BIGINT AS new_topics,
    sum(reopened)::BIGINT AS reopened_topics,
    sum(closed)::BIGINT AS closed_topics
  FROM {{ source('signalhouse', 'backlog_weekly') }}
  GROUP BY week
),

messages AS (
  SELECT
    week,
    count(*) FILTER (side = 'external') AS messages,
    count(*) FILTER (side = 'staff') AS staff_messages,
    count(DISTINCT sender_id) FILTER (side = 'external') AS people,
    count(DISTINCT company_id) FILTER (side = 'external') AS companies
  FROM {{ source('signalhouse', 'message_senders') }}
  GROUP BY week
)

SELECT
  backlog.*,
  coalesce(messages.messages, 0) AS messages,
  coalesce(messages.staff_messages, 0) AS staff_messages,
  coalesce(messages.people, 0) AS people,
  coalesce(messages.companies, 0) AS companies
FROM backlog
LEFT JOIN messages USING (week)
