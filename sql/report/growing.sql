-- The open topics that got the most messages more than the week before.
WITH growing AS (
  SELECT topic_id, title, priority, messages_last_7_days AS messages, messages_7_days_before AS before, momentum, companies
  FROM report_backlog
  WHERE momentum > 0
)
SELECT *, (SELECT count(*) FROM growing) AS found
FROM growing
ORDER BY momentum DESC, messages DESC, topic_id
LIMIT 10;
