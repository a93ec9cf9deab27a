WITH links AS (
  SELECT id AS group_id, parent_id AS person_id, true AS is_listed, fetched_at AS synced_at, run_id
  FROM raw.documents
  WHERE endpoint = 'person_groups'
  UNION ALL
  SELECT
    senders.group_id,
    person_identities.person_id,
    false,
    greatest(senders.synced_at, authors.synced_at, person_identities.synced_at),
    greatest(senders.run_id, authors.run_id, person_identities.run_id)
  FROM (
    -- Few people write many messages: one row per author and conversation before anything is joined.
    SELECT group_id, author_id, max(synced_at) AS synced_at, max(run_id) AS run_id
    FROM messages
    WHERE author_id IS NOT NULL
    GROUP BY group_id, author_id
  ) AS senders
  JOIN authors ON authors.id = senders.author_id
  JOIN person_identities
    ON person_identities.platform = authors.source_name
    AND person_identities.platform_id = authors.source_author_id
)
SELECT
  group_id,
  person_id,
  CASE WHEN bool_or(is_listed) THEN 'listed' ELSE 'author' END AS via,
  max(synced_at) AS synced_at,
  max(run_id) AS run_id
FROM links
GROUP BY group_id, person_id
