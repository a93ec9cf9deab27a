-- What a company asked for: its topics, with how much of them is its own.
--
--   $id  the company
SELECT topic_id AS id, people, messages, last_message_at AS "lastAt"
FROM company_topics
WHERE company_id = $id
ORDER BY is_open DESC, priority_rank NULLS LAST, last_message_at DESC NULLS LAST, topic_id
