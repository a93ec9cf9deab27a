-- What people wrote, by its conversation: whoever quotes it there repeats it.
--   $authors        the ids of the authors
SELECT group_id AS conversation, content
FROM messages
WHERE author_id IN (SELECT unnest($authors::VARCHAR[])) AND content IS NOT NULL
