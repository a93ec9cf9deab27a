CREATE OR REPLACE VIEW message_senders AS
SELECT
  messages.id AS message_id,
  messages.group_id,
  messages.created_at,
  messages.position,
  date_trunc('week', messages.created_at AT TIME ZONE 'UTC')::DATE AS week,
  messages.source_name,
  messages.author_id,
  author_people.person_id,
  coalesce(author_people.person_id, messages.author_id) AS sender_id,
  author_people.display_name AS sender_name,
  author_people.company_id,
  CASE
    WHEN author_people.is_bot THEN 'bot'
    WHEN author_people.is_staff OR messages.is_internal THEN 'staff'
    ELSE 'external'
  END AS side,
  coalesce(messages.is_internal, false) AS is_internal,
  coalesce(author_people.is_vip OR author_people.is_company_vip, false) AS is_vip
FROM messages
LEFT JOIN author_people ON author_people.author_id = messages.author_id
WHERE messages.deleted_at IS NULL;

COMMENT ON VIEW message_senders IS 'Who wrote which message, and on which side? One row per message that was not deleted: the basis of all counts of messages by week, person, company or side.';
COMMENT ON COLUMN message_senders.message_id IS 'The message (messages.id).';
COMMENT ON COLUMN message_senders.group_id IS 'Its conversation (groups.id).';
COMMENT ON COLUMN message_senders.created_at IS 'When it was written (UTC).';
COMMENT ON COLUMN message_senders.position IS 'Its place among the messages of its conversation with the same created_at, as the API returned them, from 1 on.';
COMMENT ON COLUMN message_senders.week IS 'Monday of the ISO week in which it was written (UTC).';
COMMENT ON COLUMN message_senders.source_name IS 'Source system, e.g. slack.';
COMMENT ON COLUMN message_senders.author_id IS 'The account that wrote it (authors.id). NULL when unknown.';
COMMENT ON COLUMN message_senders.person_id IS 'The person behind the account (people.id). NULL when unknown.';
COMMENT ON COLUMN message_senders.sender_id IS 'The person, or the account where the person is unknown: use it to count distinct senders.';
COMMENT ON COLUMN message_senders.sender_name IS 'Name of the person, or of the account where the person is unknown.';
COMMENT ON COLUMN message_senders.company_id IS 'The person''s company (companies.id). NULL when unknown.';
COMMENT ON COLUMN message_senders.side IS 'bot, staff (our own people, and every internal note) or external. Where the person behind the account is unknown: external.';
COMMENT ON COLUMN message_senders.is_internal IS 'True for an internal note of the team, which the external party cannot see.';
COMMENT ON COLUMN message_senders.is_vip IS 'True when the person or the person''s company is marked as VIP.';
