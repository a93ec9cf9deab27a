WITH links AS (
  SELECT id AS group_id, parent_id AS person_id, true AS is_listed
  FROM raw.documents
  WHERE endpoint = 'person_groups'
  UNION ALL
  SELECT senders.group_id, person_identities.person_id, false
  -- Few people write many messages: one row per author and conversation before anything is joined.
  FROM (SELECT DISTINCT group_id, author_id FROM messages WHERE author_id IS NOT NULL) AS senders
  JOIN authors ON authors.id = senders.author_id
  JOIN person_identities
    ON person_identities.platform = authors.source_name
    AND person_identities.platform_id = authors.source_author_id
)
SELECT group_id, person_id, CASE WHEN bool_or(is_listed) THEN 'listed' ELSE 'author' END AS via
FROM links
GROUP BY group_id, person_id
