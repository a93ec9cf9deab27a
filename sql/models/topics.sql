-- table: topics
-- key: id
-- documents: topics, topic, topic_presence, topic_merges
-- scope: id -> id

-- The list and the topic's detail share many fields. Whether it exists (presence) and what it was merged into (merges)
-- are documents of their own. Joined, not grouped: a join of any size spills to disk, an aggregate of texts does not.
WITH listed AS (FROM documents WHERE endpoint = 'topics'),
own AS (FROM documents WHERE endpoint = 'topic'),
found AS (FROM documents WHERE endpoint = 'topic_presence'),
history AS (FROM documents WHERE endpoint = 'topic_merges'),
gathered AS (
  SELECT
    coalesce(listed.id, own.id) AS id,
    raw.younger_wins(listed.body, listed.answer_no, own.body, own.answer_no) AS combined,
    found.body AS presence,
    history.body AS merges,
    greatest(listed.answer_no, own.answer_no, found.answer_no, history.answer_no) AS newest_no,
    CASE newest_no
      WHEN listed.answer_no THEN listed.fetched_at
      WHEN own.answer_no THEN own.fetched_at
      WHEN found.answer_no THEN found.fetched_at
      WHEN history.answer_no THEN history.fetched_at
    END AS synced_at,
    CASE newest_no
      WHEN listed.answer_no THEN listed.run_id
      WHEN own.answer_no THEN own.run_id
      WHEN found.answer_no THEN found.run_id
      WHEN history.answer_no THEN history.run_id
    END AS run_id
  FROM listed
  FULL JOIN own ON own.id = listed.id
  LEFT JOIN found ON found.id = coalesce(listed.id, own.id)
  LEFT JOIN history ON history.id = coalesce(listed.id, own.id)
),
parsed AS (
  SELECT
    id,
    from_json(combined, '{
      "title": "VARCHAR", "summary": "VARCHAR", "issueType": "VARCHAR", "keywords": ["VARCHAR"],
      "priority": "VARCHAR", "priorityReasoning": "VARCHAR",
      "lifecycleState": "VARCHAR", "lifecycleStateConfidence": "DOUBLE", "graphStatus": "VARCHAR",
      "eventCount": "BIGINT", "messageCount": "BIGINT", "totalGroupCount": "BIGINT", "staffResponseGroupCount": "BIGINT",
      "sources": ["VARCHAR"], "authorIds": ["VARCHAR"], "similarity": "DOUBLE",
      "linkedTicket": {"displayName": "VARCHAR", "linkType": "VARCHAR", "url": "VARCHAR"},
      "timeRangeStart": "VARCHAR", "timeRangeEnd": "VARCHAR", "createdAt": "VARCHAR", "updatedAt": "VARCHAR",
      "archivedAt": "VARCHAR", "archivedByUserId": "VARCHAR", "archivedReason": "VARCHAR",
      "supersededAt": "VARCHAR", "successorTopic": {"id": "VARCHAR", "title": "VARCHAR"}
    }') AS d,
    from_json(presence, '{
      "deletedAt": "VARCHAR", "deletedReason": "VARCHAR", "mergedIntoId": "VARCHAR", "detailUnavailableReason": "VARCHAR"
    }') AS p,
    from_json(merges, '{"mergedInto": {"targetTopic": {"id": "VARCHAR"}}}') AS m,
    synced_at,
    run_id
  FROM gathered
)
SELECT
  id,
  d.title AS title,
  d.summary AS summary,
  d.issueType AS issue_type,
  d.keywords AS keywords,
  d.priority AS priority,
  d.priorityReasoning AS priority_reasoning,
  d.lifecycleState AS lifecycle_state,
  d.lifecycleStateConfidence AS lifecycle_state_confidence,
  d.graphStatus AS graph_status,
  d.eventCount AS event_count,
  d.messageCount AS message_count,
  d.totalGroupCount AS total_group_count,
  d.staffResponseGroupCount AS staff_response_group_count,
  d.sources AS sources,
  d.authorIds AS author_ids,
  d.similarity AS similarity,
  d.linkedTicket.displayName AS linked_ticket_display_name,
  d.linkedTicket.linkType AS linked_ticket_link_type,
  d.linkedTicket.url AS linked_ticket_url,
  raw.moment(d.timeRangeStart) AS time_range_start,
  raw.moment(d.timeRangeEnd) AS time_range_end,
  raw.moment(d.createdAt) AS created_at,
  raw.moment(d.updatedAt) AS updated_at,
  raw.moment(d.archivedAt) AS archived_at,
  d.archivedByUserId AS archived_by_user_id,
  d.archivedReason AS archived_reason,
  raw.moment(d.supersededAt) AS superseded_at,
  d.successorTopic.id AS successor_topic_id,
  d.successorTopic.title AS successor_topic_title,
  raw.moment(p.deletedAt) AS deleted_at,
  p.deletedReason AS deleted_reason,
  coalesce(p.mergedIntoId, m.mergedInto.targetTopic.id) AS merged_into_id,
  p.detailUnavailableReason AS detail_unavailable_reason,
  synced_at,
  run_id
FROM parsed
