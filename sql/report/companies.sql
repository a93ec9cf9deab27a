-- Companies at risk: their people write much less than before, or no longer, while something of theirs is open; or a VIP
-- waits for a reply. The most important ones first.
WITH waiting AS (
  SELECT last_company_id AS company_id, count(*) AS waiting
  FROM report_waiting
  GROUP BY last_company_id
),
judged AS (
  SELECT *, trend IN ('fading', 'silent') AND messages > 0 AND (open_topics > 0 OR waiting > 0) AS is_leaving
  FROM report_companies
  LEFT JOIN waiting USING (company_id)
)
SELECT company_id, name, is_vip, trend, messages_last_28_days AS messages, messages_28_days_before AS before,
  days_silent, open_topics, urgent_topics, coalesce(waiting, 0) AS waiting, count(*) OVER () AS found,
  count(*) FILTER (is_leaving) OVER () AS leaving
FROM judged
WHERE is_leaving OR (is_vip AND waiting > 0)
ORDER BY is_vip DESC, urgent_topics DESC, waiting DESC NULLS LAST, name, company_id
LIMIT 12;
