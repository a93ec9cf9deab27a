-- Conversations whose messages are stored as every list that has them last returned them: an answer with the same hash brings
-- nothing new. Only conversations of the lists that are fetched now. Not those of which a list returned other messages or
-- some that could not be stored, nor those of which an author has changed since: the later answer counts, whichever it is.
-- Nor those with a message, or a copy of one, that was too old to keep its content and no longer is, because
-- retention.messagesMonths has changed: the API still has it.
--
--   {{kinds}}    all kinds of lists of conversations
--   $parents     the entities whose lists are fetched
--   $kept_since  messages since then keep their content; NULL where all do
WITH own AS (
  SELECT DISTINCT id
  FROM raw.documents
  WHERE endpoint IN ({{kinds}}) AND parent_id IN (SELECT unnest($parents::VARCHAR[]))
),
agreed AS (
  SELECT id, any_value(parts_hash) AS parts_hash, min(answer_no) AS answer_no
  FROM raw.documents
  WHERE endpoint IN ({{kinds}}) AND id IN (FROM own)
  GROUP BY id
  HAVING count(DISTINCT parts_hash) = 1 AND count(parts_hash) = count(*)
),
changed AS (
  SELECT agreed.id
  FROM agreed
  JOIN messages ON messages.group_id = agreed.id
  JOIN raw.documents AS authors ON authors.endpoint = 'authors' AND authors.id = messages.author_id
  WHERE authors.answer_no > agreed.answer_no
),
texts AS (
  SELECT group_id, content, created_at, deleted_at
  FROM messages
  WHERE group_id IN (FROM own)
  UNION ALL
  SELECT group_id, copy ->> '$.content', raw.moment(copy ->> '$.createdAt'), raw.moment(copy ->> '$.deletedAt')
  FROM (
    SELECT group_id, unnest([reply_to, thread]) AS copy
    FROM messages
    WHERE (reply_to IS NOT NULL OR thread IS NOT NULL) AND group_id IN (FROM own)
  )
  WHERE copy IS NOT NULL
),
emptied AS (
  SELECT group_id
  FROM texts
  WHERE content IS NULL
    AND deleted_at IS NULL
    AND ($kept_since::TIMESTAMPTZ IS NULL OR created_at >= $kept_since)
)
SELECT
  ('0x' || left(md5(id), 12))::BIGINT AS name,
  ('0x' || left(parts_hash, 12))::BIGINT AS content
FROM agreed
WHERE id NOT IN (FROM changed) AND id NOT IN (FROM emptied)
