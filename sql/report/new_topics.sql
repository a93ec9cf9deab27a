-- Topics that were opened since the date, the most urgent and the largest first.
WITH opened AS (
  SELECT topic_id, title, priority, priority_rank, companies, people
  FROM report_backlog, data_as_of
  WHERE opened_at >= $since::TIMESTAMPTZ AND opened_at <= as_of
)
SELECT topic_id, title, priority, companies, people, (SELECT count(*) FROM opened) AS found
FROM opened
ORDER BY priority_rank NULLS LAST, companies DESC, people DESC, topic_id
LIMIT 10;
