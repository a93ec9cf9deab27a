-- Companies at risk: their people write much less than before, or no longer, while something of theirs is open; or a VIP
-- waits for an answer. The most important ones first.
SELECT company_id, name, is_vip, trend, messages_last_28_days AS messages, messages_28_days_before AS before,
  days_silent, open_topics, urgent_topics, unanswered_groups AS waiting, count(*) OVER () AS found
FROM report_companies
WHERE (trend IN ('fading', 'silent') AND messages > 0 AND (open_topics > 0 OR unanswered_groups > 0))
  OR (is_vip AND unanswered_groups > 0)
ORDER BY is_vip DESC, urgent_topics DESC, unanswered_groups DESC, name, company_id
LIMIT 12;
