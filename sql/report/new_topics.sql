-- Topics that were opened since the date, the most urgent and the largest first.
SELECT topic_id, title, priority, companies, people, count(*) OVER () AS found
FROM report_backlog, data_as_of
WHERE opened_at >= $since::TIMESTAMPTZ AND opened_at <= as_of
ORDER BY priority_rank NULLS LAST, companies DESC, people DESC, topic_id
LIMIT 10;
