-- What people wrote, or what was written in conversations.
--   $own  part and id of the accounts and conversations, as part:id
SELECT unnest([title, content]) AS text
FROM messages
WHERE concat('author:', author_id) IN (SELECT unnest($own::VARCHAR[]))
  OR concat('conversation:', group_id) IN (SELECT unnest($own::VARCHAR[]))
