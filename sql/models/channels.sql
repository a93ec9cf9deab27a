-- table: channels
-- key: id
-- documents: channels, channel
-- scope: id -> id

WITH listed AS (FROM documents WHERE endpoint = 'channels'),
own AS (FROM documents WHERE endpoint = 'channel'),
gathered AS (
  SELECT
    coalesce(listed.id, own.id) AS id,
    raw.younger_wins(listed.body, listed.answer_no, own.body, own.answer_no) AS combined,
    greatest(listed.answer_no, own.answer_no) AS newest_no,
    CASE newest_no
      WHEN listed.answer_no THEN listed.fetched_at
      WHEN own.answer_no THEN own.fetched_at
    END AS synced_at,
    CASE newest_no
      WHEN listed.answer_no THEN listed.run_id
      WHEN own.answer_no THEN own.run_id
    END AS run_id
  FROM listed
  FULL JOIN own ON own.id = listed.id
),
parsed AS (
  SELECT
    id,
    from_json(combined, '{
      "channelName": "VARCHAR", "serverName": "VARCHAR", "description": "VARCHAR", "context": "VARCHAR",
      "isConnected": "BOOLEAN", "messageCount": "BIGINT", "lastSeenAt": "VARCHAR",
      "sourceName": "VARCHAR", "sourceChannelId": "VARCHAR", "sourceServerId": "VARCHAR",
      "createdAt": "VARCHAR", "updatedAt": "VARCHAR"
    }') AS d,
    synced_at,
    run_id
  FROM gathered
)
SELECT
  id,
  d.channelName AS channel_name,
  d.serverName AS server_name,
  d.description AS description,
  d.context AS context,
  d.isConnected AS is_connected,
  d.messageCount AS message_count,
  raw.moment(d.lastSeenAt) AS last_seen_at,
  d.sourceName AS source_name,
  d.sourceChannelId AS source_channel_id,
  d.sourceServerId AS source_server_id,
  raw.moment(d.createdAt) AS created_at,
  raw.moment(d.updatedAt) AS updated_at,
  synced_at,
  run_id
FROM parsed
