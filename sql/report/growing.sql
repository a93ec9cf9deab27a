-- The open topics that got the most messages more than the week before.
SELECT topic_id, title, priority, messages_last_7_days AS messages, messages_7_days_before AS before, momentum, companies,
  count(*) OVER () AS found
FROM report_backlog
WHERE momentum > 0
ORDER BY momentum DESC, messages DESC, topic_id
LIMIT 10;
