-- The topics, companies and people whose conversations have this one, and the topic that it names.
--
--   $id         the conversation's id
--   $resources  the resources that bring conversations
SELECT endpoint AS resource, parent_id AS "entityId", max(fetched_at) AS "at"
FROM raw.documents
WHERE id = $id AND parent_id IS NOT NULL AND list_contains($resources, endpoint)
GROUP BY endpoint, parent_id
UNION
SELECT 'topic_groups', topic_id, NULL
FROM groups
WHERE id = $id AND topic_id IS NOT NULL
  AND NOT EXISTS (FROM raw.documents WHERE endpoint = 'topic_groups' AND documents.id = $id AND parent_id = groups.topic_id)
ORDER BY 1, 2
