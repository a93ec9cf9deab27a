-- The topics whose conversations say something, and how well their best message fits.
--
--   $words  as people search: message_search
SELECT topic_groups.topic_id AS id, max(ranked.score) AS score
FROM search_ranked($words, false) AS ranked
JOIN messages ON messages.id = ranked.id
JOIN topic_groups ON topic_groups.group_id = messages.group_id
GROUP BY topic_groups.topic_id
