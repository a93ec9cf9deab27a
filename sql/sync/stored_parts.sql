-- Conversations whose messages are stored as they were when their list was last fetched: a list that returns one with the
-- same hash brings nothing new. Only conversations of the lists that are fetched now. Not those of which another list
-- returned other messages or some that could not be stored, nor those of which an author has changed since: the later
-- answer counts, whichever it is. Nor those with a message, or a copy of one, that was too old to keep its content and
-- no longer is, because retention.messagesMonths has changed: the API still has it.
--
--   {{kinds}}    all kinds of lists of conversations
--   $parents     the entities whose lists are fetched
--   $kept_since  messages since then keep their content; NULL where all do
WITH lists AS (
  SELECT endpoint, parent_id, id, parts_hash, answer_no
  FROM raw.documents
  WHERE endpoint IN ({{kinds}})
),
own AS (
  SELECT *
  FROM lists
  WHERE parts_hash IS NOT NULL AND parent_id IN (SELECT unnest($parents::VARCHAR[]))
),
disputed AS (
  SELECT id
  FROM lists
  WHERE id IN (SELECT id FROM own)
  GROUP BY id
  HAVING count(DISTINCT parts_hash) > 1 OR count(parts_hash) < count(*)
),
changed AS (
  SELECT own.id, own.endpoint, own.parent_id
  FROM own
  JOIN messages ON messages.group_id = own.id
  JOIN raw.documents AS authors ON authors.endpoint = 'authors' AND authors.id = messages.author_id
  WHERE authors.answer_no > own.answer_no
),
texts AS (
  SELECT group_id, content, created_at, deleted_at
  FROM messages
  WHERE group_id IN (SELECT id FROM own)
  UNION ALL
  SELECT group_id, copy ->> '$.content', raw.moment(copy ->> '$.createdAt'), raw.moment(copy ->> '$.deletedAt')
  FROM (
    SELECT group_id, unnest([reply_to, thread]) AS copy
    FROM messages
    WHERE (reply_to IS NOT NULL OR thread IS NOT NULL) AND group_id IN (SELECT id FROM own)
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
  ('0x' || left(md5(endpoint || ' ' || parent_id || ' ' || id), 16))::UBIGINT AS name,
  ('0x' || parts_hash)::UBIGINT AS hash
FROM own
WHERE id NOT IN (FROM disputed)
  AND id NOT IN (FROM emptied)
  AND (id, endpoint, parent_id) NOT IN (SELECT (id, endpoint, parent_id) FROM changed)
