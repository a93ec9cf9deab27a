-- Companies at risk, the most important ones first.
WITH at_risk AS MATERIALIZED (
  FROM companies_at_risk
)
SELECT company_id, name, is_vip, trend, messages_last_28_days AS messages, messages_28_days_before AS before,
  days_silent, open_topics, urgent_topics, waiting_conversations AS waiting,
  (SELECT count(*) FROM at_risk) AS found,
  (SELECT count(*) FROM at_risk WHERE reason <> 'vip_waits') AS leaving
FROM at_risk
ORDER BY is_vip DESC, urgent_topics DESC, waiting DESC, name, company_id
LIMIT 12;
