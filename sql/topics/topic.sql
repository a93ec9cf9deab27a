-- What a topic is about, and what it belongs to.
--
--   $id  the topic
SELECT
  topics.id,
  topics.title,
  topics.summary,
  topics.issue_type AS "issueType",
  topics.keywords,
  topics.priority,
  topics.priority_reasoning AS "priorityReasoning",
  topics.lifecycle_state AS "lifecycleState",
  topics.lifecycle_state_confidence AS confidence,
  topics.archived_at AS "archivedAt",
  topics.archived_reason AS "archivedReason",
  topics.created_at AS "createdAt",
  topics.linked_ticket_display_name AS "ticketName",
  topics.linked_ticket_url AS "ticketUrl",
  topics.deleted_at AS "deletedAt",
  topics.detail_unavailable_reason AS "unavailableReason",
  coalesce(topics.merged_into_id, topics.successor_topic_id) AS "nextId",
  next.title AS "nextTitle"
FROM topics
LEFT JOIN topics AS next ON next.id = coalesce(topics.merged_into_id, topics.successor_topic_id)
WHERE topics.id = $id
