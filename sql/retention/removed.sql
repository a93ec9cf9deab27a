-- What was removed before $before; of messages only those of which no other message has a copy.
DELETE FROM ops.removed_rows
WHERE "at" < $before
  AND NOT (
    table_name = 'messages'
    AND "key"[1] IN (
      SELECT thread_id FROM messages WHERE thread_id IS NOT NULL
      UNION ALL SELECT reply_to_id FROM messages WHERE reply_to_id IS NOT NULL
    )
  )
