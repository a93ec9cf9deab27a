-- table: people
-- key: id
-- documents: people, person, person_presence, person_merges
-- scope: id -> id

-- The list and the person's detail share fields, those of the company too where both name the same one; the fields of two
-- companies are never mixed. Joined, not grouped, as in topics.
WITH listed AS (FROM documents WHERE endpoint = 'people'),
own AS (FROM documents WHERE endpoint = 'person'),
found AS (FROM documents WHERE endpoint = 'person_presence'),
history AS (FROM documents WHERE endpoint = 'person_merges'),
gathered AS (
  SELECT
    coalesce(listed.id, own.id) AS id,
    raw.younger_wins(listed.body, listed.answer_no, own.body, own.answer_no) AS combined,
    raw.younger_field(listed.body, listed.answer_no, own.body, own.answer_no, '$.company') AS company,
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
      "displayName": "VARCHAR", "primaryEmail": "VARCHAR", "description": "VARCHAR", "avatarUrl": "VARCHAR",
      "isVip": "BOOLEAN",
      "connections": {
        "github": "VARCHAR", "linkedin": "VARCHAR", "phone": "VARCHAR", "title": "VARCHAR", "twitter": "VARCHAR",
        "website": "VARCHAR"
      },
      "ecosystemTags": ["VARCHAR"], "expertiseTags": ["VARCHAR"], "sources": ["VARCHAR"],
      "identityCount": "BIGINT", "conversationCount": "BIGINT", "messageCount": "BIGINT",
      "avgMessagesPerWeek": "DOUBLE", "weeklyActivity": ["DOUBLE"],
      "firstSeenAt": "VARCHAR", "lastSeenAt": "VARCHAR", "createdAt": "VARCHAR"
    }') AS d,
    from_json(company, '{"id": "VARCHAR", "name": "VARCHAR", "domain": "VARCHAR", "logoUrl": "VARCHAR"}') AS c,
    from_json(presence, '{
      "deletedAt": "VARCHAR", "deletedReason": "VARCHAR", "mergedIntoId": "VARCHAR", "detailUnavailableReason": "VARCHAR"
    }') AS p,
    from_json(merges, '{"mergedInto": {"targetPerson": {"id": "VARCHAR"}}}') AS m,
    synced_at,
    run_id
  FROM gathered
)
SELECT
  id,
  d.displayName AS display_name,
  d.primaryEmail AS primary_email,
  d.description AS description,
  d.avatarUrl AS avatar_url,
  d.isVip AS is_vip,
  c.id AS company_id,
  c.name AS company_name,
  c.domain AS company_domain,
  c.logoUrl AS company_logo_url,
  d.connections.github AS connections_github,
  d.connections.linkedin AS connections_linkedin,
  d.connections.phone AS connections_phone,
  d.connections.title AS connections_title,
  d.connections.twitter AS connections_twitter,
  d.connections.website AS connections_website,
  d.ecosystemTags AS ecosystem_tags,
  d.expertiseTags AS expertise_tags,
  d.sources AS sources,
  d.identityCount AS identity_count,
  d.conversationCount AS conversation_count,
  d.messageCount AS message_count,
  d.avgMessagesPerWeek AS avg_messages_per_week,
  d.weeklyActivity AS weekly_activity,
  raw.moment(d.firstSeenAt) AS first_seen_at,
  raw.moment(d.lastSeenAt) AS last_seen_at,
  raw.moment(d.createdAt) AS created_at,
  raw.moment(p.deletedAt) AS deleted_at,
  p.deletedReason AS deleted_reason,
  coalesce(p.mergedIntoId, m.mergedInto.targetPerson.id) AS merged_into_id,
  p.detailUnavailableReason AS detail_unavailable_reason,
  synced_at,
  run_id
FROM parsed
