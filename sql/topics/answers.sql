-- What we last said to a company about each topic, and in each conversation without one: messages of staff, without internal notes,
-- the last first. What was said to others before the company wrote is not said to it; nor is what our own company says to itself.
--
--   $id  the company
WITH begun AS (
  SELECT
    group_id,
    min(created_at) FILTER (company_id = $id) AS by_company,
    min(created_at) FILTER (company_id IS DISTINCT FROM $id) AS by_others
  FROM message_senders
  WHERE side = 'external'
    AND group_id IN (SELECT group_id FROM group_companies WHERE company_id = $id)
  GROUP BY group_id
)
SELECT
  said.sender_name AS name,
  said.created_at AS "at",
  messages.content AS text,
  messages.source_name AS source,
  messages.source_url AS url,
  topics.id AS "topicId",
  topics.title AS "topicTitle"
FROM message_senders AS said
JOIN begun ON begun.group_id = said.group_id
JOIN messages ON messages.id = said.message_id
LEFT JOIN topic_groups ON topic_groups.group_id = said.group_id
LEFT JOIN topics ON topics.id = topic_groups.topic_id
WHERE said.side = 'staff'
  AND NOT said.is_internal
  AND said.created_at IS NOT NULL
  AND begun.by_company IS NOT NULL
  AND (said.created_at >= begun.by_company OR begun.by_others IS NULL OR said.created_at < begun.by_others)
QUALIFY
  row_number() OVER (
    PARTITION BY coalesce(topics.id, said.group_id) ORDER BY said.created_at DESC, said.message_id
  ) = 1
ORDER BY said.created_at DESC, said.message_id
