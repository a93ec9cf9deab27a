-- What people say in the conversations of a topic: the last messages, and those that tell most. A message from outside tells
-- more when a VIP wrote it, when people reacted to it, and when it is longer; of each person the best one counts.
--
--   $id  the topic
WITH
said AS MATERIALIZED (
  SELECT message_id, sender_id, sender_name, side, is_vip, company_id, created_at, position
  FROM message_senders
  WHERE side <> 'bot' AND group_id IN (SELECT group_id FROM topic_groups WHERE topic_id = $id)
),
reactions AS (
  SELECT message_id, count(*) AS reactions
  FROM message_reactions
  WHERE message_id IN (SELECT message_id FROM said)
  GROUP BY message_id
),
weighed AS (
  SELECT
    said.*,
    least(length(messages.content), 600) + if(said.is_vip, 300, 0) + 150 * least(coalesce(reactions, 0), 4) AS weight
  FROM said
  JOIN messages ON messages.id = said.message_id
  LEFT JOIN reactions ON reactions.message_id = said.message_id
  WHERE said.side = 'external'
  QUALIFY row_number() OVER (PARTITION BY sender_id ORDER BY weight DESC, said.message_id) = 1
),
chosen AS (
  (SELECT 'telling' AS kind, message_id, weight AS place FROM weighed ORDER BY weight DESC, message_id LIMIT 6)
  UNION ALL
  (
    SELECT 'latest', message_id, epoch(created_at)
    FROM said
    WHERE created_at IS NOT NULL
    ORDER BY created_at DESC, position DESC, message_id
    LIMIT 8
  )
)
SELECT
  chosen.kind,
  said.sender_name AS name,
  said.side,
  coalesce(author_people.is_vip, false) AS "isVip",
  if(
    said.company_id IS NULL,
    NULL,
    { 'id': said.company_id, 'name': companies.name, 'isVip': coalesce(companies.is_vip, false) }
  ) AS company,
  said.created_at AS "at",
  messages.content AS text,
  messages.source_name AS source,
  messages.source_url AS url
FROM chosen
JOIN said ON said.message_id = chosen.message_id
JOIN messages ON messages.id = chosen.message_id
LEFT JOIN author_people ON author_people.author_id = messages.author_id
LEFT JOIN companies ON companies.id = said.company_id
ORDER BY chosen.kind, chosen.place DESC, chosen.message_id
