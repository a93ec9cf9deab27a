-- table: messages
-- key: id
-- documents: messages
-- scope: id -> id
-- cascade: groups

-- A message that moved is in two conversations until the one it left is read again: the one fetched last counts. There
-- are few of them, so they are looked up instead of sorting every message. (cascade: groups) A message is removed
-- together with its conversation.
WITH again AS (
  SELECT id, max((answer_no, parent_id)) AS latest
  FROM documents
  GROUP BY id
  HAVING count(*) > 1
),
parsed AS (
  SELECT
    id,
    parent_id,
    from_json(body, '{
      "author": {"id": "VARCHAR"},
      "channel": {"id": "VARCHAR", "channelName": "VARCHAR", "serverName": "VARCHAR"},
      "title": "VARCHAR", "content": "VARCHAR",
      "createdAt": "VARCHAR", "editedAt": "VARCHAR", "deletedAt": "VARCHAR",
      "isInternal": "BOOLEAN", "metadata": "JSON", "replyToId": "VARCHAR", "threadId": "VARCHAR",
      "sourceName": "VARCHAR", "sourceUrl": "VARCHAR", "sourceMessageId": "VARCHAR", "sourceMessageType": "VARCHAR",
      "sourceReplyToId": "VARCHAR", "sourceThreadId": "VARCHAR",
      "replyTo": "JSON", "thread": "JSON", "positionAtTime": "INTEGER"
    }') AS d,
    fetched_at,
    run_id
  FROM documents
  LEFT JOIN again USING (id)
  WHERE latest IS NULL OR (answer_no, parent_id) = latest
)
SELECT
  id,
  parent_id AS group_id,
  d.author.id AS author_id,
  d.channel.id AS channel_id,
  d.channel.channelName AS channel_channel_name,
  d.channel.serverName AS channel_server_name,
  d.title AS title,
  d.content AS content,
  raw.moment(d.createdAt) AS created_at,
  raw.moment(d.editedAt) AS edited_at,
  raw.moment(d.deletedAt) AS deleted_at,
  d.isInternal AS is_internal,
  d.metadata AS metadata,
  d.replyToId AS reply_to_id,
  d.threadId AS thread_id,
  d.sourceName AS source_name,
  d.sourceUrl AS source_url,
  d.sourceMessageId AS source_message_id,
  d.sourceMessageType AS source_message_type,
  d.sourceReplyToId AS source_reply_to_id,
  d.sourceThreadId AS source_thread_id,
  d.replyTo AS reply_to,
  d.thread AS thread,
  coalesce(d.positionAtTime, 1) AS position,
  fetched_at AS synced_at,
  run_id
FROM parsed
