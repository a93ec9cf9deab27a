-- Empties the rejected records of deleted and old messages and people, and those that may quote what was deleted since.
--   $before  the API deleted them before this
--   $messages, $people, $own, $within  as in expired_documents.sql
UPDATE ops.rejected_records SET body = 'null'::JSON
WHERE body::VARCHAR <> 'null' AND (
  first_seen_at < $before
  OR endpoint = 'messages' AND id IN (SELECT unnest($messages::VARCHAR[]))
  OR endpoint IN (SELECT unnest($own::VARCHAR[])) AND id IN (SELECT unnest($people::VARCHAR[]))
  OR endpoint IN (SELECT unnest($within::VARCHAR[])) AND parent_id IN (SELECT unnest($people::VARCHAR[]))
)
