CREATE OR REPLACE VIEW source_mix AS
SELECT
  week,
  source_name,
  count(*) AS messages,
  count(DISTINCT sender_id) AS people,
  count(DISTINCT company_id) AS companies,
  count(DISTINCT group_id) AS conversations,
  count(*) / sum(count(*)) OVER (PARTITION BY week) AS share
FROM message_senders
WHERE side = 'external' AND week IS NOT NULL
GROUP BY week, source_name;

COMMENT ON VIEW source_mix IS 'Where do people talk to us, and how does that change? One row per ISO week (UTC) and source system, without staff and bots.';
COMMENT ON COLUMN source_mix.week IS 'Monday of the ISO week (UTC).';
COMMENT ON COLUMN source_mix.source_name IS 'Source system, e.g. slack.';
COMMENT ON COLUMN source_mix.messages IS 'Messages.';
COMMENT ON COLUMN source_mix.people IS 'Different people who wrote them.';
COMMENT ON COLUMN source_mix.companies IS 'Different companies of those people.';
COMMENT ON COLUMN source_mix.conversations IS 'Conversations in which they wrote.';
COMMENT ON COLUMN source_mix.share IS 'Share of the week''s messages, 0 to 1.';
