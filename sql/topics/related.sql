-- Topics that are probably the same as one, and those that it took the place of. The most probable come first.
--
--   $id  the topic
SELECT
  if(id_1 = $id, id_2, id_1) AS id,
  if(id_1 = $id, name_2, name_1) AS title,
  'duplicate' AS kind,
  score,
  reasons
FROM probable_duplicates
WHERE entity_type = 'topic' AND (id_1 = $id OR id_2 = $id)
UNION ALL
SELECT id, title, if(merged_into_id = $id, 'merged', 'superseded'), NULL, NULL
FROM topics
WHERE merged_into_id = $id OR successor_topic_id = $id
ORDER BY score DESC NULLS LAST, title, id
