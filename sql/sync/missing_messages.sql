-- The stored messages of conversations that an answer shows without them; `isGone`: no listed topic, which would count it, has the
-- conversation, and the person who wrote it (`personId`) has no more messages, by their own counter, than are stored without those.
-- No counter tells whether a message that is marked as deleted is still there.
--
--   $groups           the conversations
--   $shown, $places   the messages that the answer shows and the conversation of each, as lists of the same length
WITH missing AS (
  SELECT id, parent_id, (body ->> '$.deletedAt') IS NULL AS is_counted, body ->> '$.author.id' AS author_id
  FROM raw.documents
  WHERE endpoint = 'messages'
    AND parent_id IN (SELECT unnest($groups::VARCHAR[]))
    AND (parent_id, id) NOT IN (SELECT (unnest($places::VARCHAR[]), unnest($shown::VARCHAR[])))
),
listed AS (
  SELECT listing.id
  FROM raw.documents AS listing
  JOIN ops.entities AS topic ON topic.list = 'topics' AND topic.entity_id = listing.parent_id
  WHERE listing.endpoint = 'topic_groups'
    AND listing.id IN (SELECT parent_id FROM missing)
    AND topic.deleted_at IS NULL AND topic.unlisted_since IS NULL AND topic.unavailable_reason IS NULL
),
writers AS (
  SELECT authors.id AS author_id, account.person_id
  FROM main.authors
  JOIN main.person_identities AS account
    ON account.platform = authors.source_name AND account.platform_id = authors.source_author_id
),
uncounted AS (
  SELECT missing.*, writers.person_id
  FROM missing
  JOIN writers USING (author_id)
  WHERE missing.is_counted AND missing.parent_id NOT IN (FROM listed)
),
stored AS (
  SELECT writers.person_id, count(*) AS messages
  FROM writers
  JOIN main.messages USING (author_id)
  WHERE messages.deleted_at IS NULL AND writers.person_id IN (SELECT person_id FROM uncounted)
  GROUP BY writers.person_id
),
gone AS (
  SELECT uncounted.id, uncounted.parent_id, uncounted.person_id
  FROM uncounted
  JOIN (SELECT person_id, count(*) AS messages FROM uncounted GROUP BY person_id) AS lost USING (person_id)
  LEFT JOIN stored USING (person_id)
  JOIN main.people ON people.id = uncounted.person_id
  WHERE people.message_count <= coalesce(stored.messages, 0) - lost.messages
)
SELECT id, parent_id AS "parentId", gone.person_id IS NOT NULL AS "isGone", gone.person_id AS "personId"
FROM missing
LEFT JOIN gone USING (id, parent_id)
ORDER BY parent_id, id
