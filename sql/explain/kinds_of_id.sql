-- What else has this id.
--
--   $id  the id
SELECT 'topic' AS kind, title AS name FROM topics WHERE id = $id
UNION ALL
SELECT 'company', name FROM companies WHERE id = $id
UNION ALL
SELECT 'person', display_name FROM people WHERE id = $id
UNION ALL
SELECT 'conversation', title FROM groups WHERE id = $id
UNION ALL
SELECT 'message', left(content, 60) FROM messages WHERE id = $id
UNION ALL
SELECT 'author', display_name FROM authors WHERE id = $id
UNION ALL
SELECT 'channel', channel_name FROM channels WHERE id = $id
