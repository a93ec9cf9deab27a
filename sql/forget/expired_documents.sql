-- The documents that hold something of deleted messages and people.
--   $messages  ids of messages
--   $people    ids of people
--   $own       the kinds of documents whose id is that of a person
--   $within    the kinds of documents whose parent is a person
SELECT rowid AS rid
FROM raw.documents
WHERE endpoint = 'messages' AND id IN (SELECT unnest($messages::VARCHAR[]))
UNION
SELECT documents.rowid
FROM raw.documents AS documents
JOIN messages ON messages.id = documents.id
WHERE documents.endpoint = 'messages' AND (
  messages.reply_to_id IN (SELECT unnest($messages::VARCHAR[])) OR messages.thread_id IN (SELECT unnest($messages::VARCHAR[]))
)
UNION
SELECT rowid
FROM raw.documents
WHERE endpoint IN (SELECT unnest($own::VARCHAR[]))
  AND id IN (SELECT unnest($people::VARCHAR[]))
UNION
SELECT rowid
FROM raw.documents
WHERE endpoint IN (SELECT unnest($within::VARCHAR[])) AND parent_id IN (SELECT unnest($people::VARCHAR[]))
