-- The messages that contain the words, the best first.
SELECT message_id, created_at, source_name AS source, author_name AS author, side, topic_id, topic_title, matched, content
FROM message_search($words)
WHERE $since::TIMESTAMPTZ IS NULL OR created_at >= $since::TIMESTAMPTZ
LIMIT $limit;
