-- The latest messages that contain every word, with the topic they belong to.
WITH found AS (
  SELECT id, group_id, author_id, created_at, source_name, content
  FROM messages
  WHERE deleted_at IS NULL
    AND list_bool_and(list_transform(from_json($words, '["VARCHAR"]'), lambda word: contains(lower(content), word)))
    AND ($since::TIMESTAMPTZ IS NULL OR created_at >= $since::TIMESTAMPTZ)
  ORDER BY created_at DESC, id
  LIMIT $limit
)
SELECT found.id AS message_id, found.created_at, found.source_name AS source, author_people.display_name AS author,
  (SELECT min(topics.id) FROM topic_groups JOIN topics ON topics.id = topic_groups.topic_id
   WHERE topic_groups.group_id = found.group_id AND topics.deleted_at IS NULL) AS topic_id,
  found.content
FROM found
LEFT JOIN author_people ON author_people.author_id = found.author_id
ORDER BY found.created_at DESC, found.id;
