-- What people wrote, or what was written in conversations: a message that quotes it repeats it.
--   $authors        ids of authors
--   $conversations  ids of conversations
SELECT group_id AS conversation, content, title
FROM messages
WHERE author_id IN (SELECT unnest($authors::VARCHAR[])) OR group_id IN (SELECT unnest($conversations::VARCHAR[]))
