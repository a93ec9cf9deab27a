-- What happened in a conversation, by the day.
--
--   $id  its id
SELECT max(created_at) AS "at", count(*) AS messages, count(*) FILTER (edited_at IS NOT NULL) AS edited,
  count(*) FILTER (deleted_at IS NOT NULL) AS deleted,
  list_distinct(list(authors.display_name)) AS authors
FROM messages
LEFT JOIN authors ON authors.id = messages.author_id
WHERE group_id = $id AND created_at IS NOT NULL
GROUP BY date_trunc('day', created_at)
ORDER BY 1
