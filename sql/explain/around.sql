-- Who writes most in the conversations of an entity, and what was said last: rows of what, name and messages, or of a message with its time and text.
--   $id                the entity
--   {{conversations}}  the ids of its conversations, as SQL
WITH said AS MATERIALIZED (
  SELECT message_id, created_at, position, company_id, sender_name, side
  FROM message_senders
  WHERE group_id IN ({{conversations}}) AND side <> 'bot'
),
companies_of AS (
  SELECT 'company' AS what, companies.name, count(*) AS messages
  FROM said
  JOIN companies ON companies.id = said.company_id
  WHERE side = 'external'
  GROUP BY companies.id, companies.name
  ORDER BY messages DESC, companies.name
  LIMIT 5
),
people_of AS (
  SELECT 'person' AS what, sender_name AS name, count(*) AS messages
  FROM said
  WHERE sender_name IS NOT NULL
  GROUP BY sender_name
  ORDER BY messages DESC, sender_name
  LIMIT 5
),
latest AS (
  SELECT 'message' AS what, said.sender_name AS name, said.created_at, messages.content
  FROM said
  JOIN messages ON messages.id = said.message_id
  ORDER BY said.created_at DESC NULLS LAST, said.position DESC, said.message_id DESC
  LIMIT 5
)
SELECT what, name, messages, NULL::TIMESTAMPTZ AS "at", NULL AS text FROM companies_of
UNION ALL
SELECT what, name, messages, NULL, NULL FROM people_of
UNION ALL
SELECT what, name, NULL, created_at, content FROM latest
