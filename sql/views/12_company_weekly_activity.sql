CREATE OR REPLACE VIEW company_weekly_activity AS
SELECT
  companies.id AS company_id,
  companies.name,
  message_senders.week,
  count(*) AS messages,
  count(DISTINCT sender_id) AS people,
  count(DISTINCT message_senders.group_id) AS conversations
FROM message_senders
JOIN companies ON companies.id = message_senders.company_id
WHERE side = 'external' AND companies.deleted_at IS NULL AND message_senders.week IS NOT NULL
GROUP BY companies.id, companies.name, message_senders.week;

COMMENT ON VIEW company_weekly_activity IS 'How much did a company''s people write each week? One row per company and ISO week (UTC) in which they wrote; counted from the messages themselves, without staff and bots.';
COMMENT ON COLUMN company_weekly_activity.company_id IS 'The company (companies.id); deleted ones are left out.';
COMMENT ON COLUMN company_weekly_activity.name IS 'Name of the company.';
COMMENT ON COLUMN company_weekly_activity.week IS 'Monday of the ISO week (UTC).';
COMMENT ON COLUMN company_weekly_activity.messages IS 'Messages.';
COMMENT ON COLUMN company_weekly_activity.people IS 'Different people who wrote them.';
COMMENT ON COLUMN company_weekly_activity.conversations IS 'Conversations in which they wrote.';
