-- The conversations in which a company waits for a reply, the longest first, at most 20.
--
--   $id  the company
SELECT
  title,
  topic_id AS "topicId",
  topic_title AS "topicTitle",
  last_name AS name,
  waiting_since AS "at",
  source_name AS source,
  source_url AS url
FROM awaiting_reply
WHERE last_company_id = $id
ORDER BY waiting_since, group_id
LIMIT 20
