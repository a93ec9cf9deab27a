CREATE OR REPLACE VIEW companies_at_risk AS
SELECT
  company_id,
  name,
  is_vip,
  CASE
    WHEN trend IN ('fading', 'silent') AND messages > 0 AND (open_topics > 0 OR waiting_conversations > 0) THEN trend
    WHEN is_vip AND waiting_conversations > 0 THEN 'vip_waits'
  END AS reason,
  trend,
  messages_last_28_days,
  messages_28_days_before,
  last_message_at,
  days_silent,
  last_staff_reply_at,
  open_topics,
  urgent_topics,
  open_conversations,
  waiting_conversations,
  longest_wait_hours,
  company_attributes.* EXCLUDE (company_id)
FROM company_health
LEFT JOIN company_attributes USING (company_id)
WHERE reason IS NOT NULL;

COMMENT ON VIEW companies_at_risk IS 'Which companies may we lose, and why? One row per company whose people write much less than before, or no longer, while something of theirs is open; or that is a VIP and waits for a reply.';
COMMENT ON COLUMN companies_at_risk.company_id IS 'The company (companies.id).';
COMMENT ON COLUMN companies_at_risk.name IS 'Its name.';
COMMENT ON COLUMN companies_at_risk.is_vip IS 'True when it is marked as VIP.';
COMMENT ON COLUMN companies_at_risk.reason IS 'fading or silent (its people write much less than before, or no longer, while a topic is open or a reply is due), or vip_waits.';
COMMENT ON COLUMN companies_at_risk.trend IS 'As in company_health.';
COMMENT ON COLUMN companies_at_risk.messages_last_28_days IS 'Messages of its people in the last 28 days.';
COMMENT ON COLUMN companies_at_risk.messages_28_days_before IS 'Messages of its people in the 28 days before these.';
COMMENT ON COLUMN companies_at_risk.last_message_at IS 'Its latest message (UTC).';
COMMENT ON COLUMN companies_at_risk.days_silent IS 'Days since that message, with fractions.';
COMMENT ON COLUMN companies_at_risk.last_staff_reply_at IS 'Latest message of staff in the conversations in which its people wrote, without internal notes (UTC). NULL when there is none.';
COMMENT ON COLUMN companies_at_risk.open_topics IS 'Open topics in which its people take part.';
COMMENT ON COLUMN companies_at_risk.urgent_topics IS 'Those of them with high or very high priority.';
COMMENT ON COLUMN companies_at_risk.open_conversations IS 'Conversations of open topics in which its people wrote.';
COMMENT ON COLUMN companies_at_risk.waiting_conversations IS 'Conversations in which one of its people wrote last.';
COMMENT ON COLUMN companies_at_risk.longest_wait_hours IS 'Hours for which the first of them has waited, with fractions. NULL when none waits.';
