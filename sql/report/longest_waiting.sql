-- VIPs and urgent topics first, then the longest wait.
SELECT coalesce(nullif(trim(title), ''), topic_title) AS title, last_name AS name, topic_priority AS priority,
  last_message_at, waiting_hours AS hours, is_vip, was_answered_before, source_name AS source, source_url AS url,
  (SELECT count(*) FROM report_waiting) AS found
FROM report_waiting
ORDER BY is_vip DESC, coalesce(topic_priority IN ('high', 'very_high'), false) DESC, waiting_hours DESC, group_id
LIMIT 12;
