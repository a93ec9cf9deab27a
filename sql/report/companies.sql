-- Companies at risk, the most important ones first.
SELECT company_id, name, is_vip, trend, messages_last_28_days AS messages, messages_28_days_before AS before,
  days_silent, open_topics, urgent_topics, waiting_conversations AS waiting, count(*) OVER () AS found,
  count(*) FILTER (reason <> 'vip_waits') OVER () AS leaving
FROM companies_at_risk
ORDER BY is_vip DESC, urgent_topics DESC, waiting DESC, name, company_id
LIMIT 12;
