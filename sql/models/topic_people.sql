-- table: topic_people
-- key: topic_id, person_id
-- documents: topic_people, topic_persons
-- scope: parent_id, id -> topic_id, person_id

-- The topics list and the topic's list of people both name people. Only the topics list tells whether the company is our own:
-- kept only while that list names the same company. Joined, not grouped, as in topics.
WITH listed AS (FROM documents WHERE endpoint = 'topic_persons'),
own AS (FROM documents WHERE endpoint = 'topic_people'),
gathered AS (
  SELECT
    coalesce(listed.parent_id, own.parent_id) AS topic_id,
    coalesce(listed.id, own.id) AS person_id,
    raw.younger_wins(listed.body, listed.answer_no, own.body, own.answer_no) AS combined,
    raw.younger_field(listed.body, listed.answer_no, own.body, own.answer_no, '$.company') AS company,
    listed.body AS listed,
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
  FULL JOIN own ON own.parent_id = listed.parent_id AND own.id = listed.id
),
parsed AS (
  SELECT
    topic_id,
    person_id,
    from_json(combined, '{
      "displayName": "VARCHAR", "title": "VARCHAR", "avatarUrl": "VARCHAR",
      "isBot": "BOOLEAN", "isStaff": "BOOLEAN", "isVip": "BOOLEAN",
      "messageCount": "BIGINT", "sources": ["VARCHAR"]
    }') AS d,
    from_json(company, '{"id": "VARCHAR", "name": "VARCHAR", "domain": "VARCHAR", "logoUrl": "VARCHAR"}') AS c,
    from_json(listed, '{"company": {"id": "VARCHAR", "isOrgCompany": "BOOLEAN"}}') AS l,
    synced_at,
    run_id
  FROM gathered
)
SELECT
  topic_id,
  person_id,
  d.displayName AS display_name,
  d.title AS title,
  d.avatarUrl AS avatar_url,
  d.isBot AS is_bot,
  d.isStaff AS is_staff,
  d.isVip AS is_vip,
  d.messageCount AS message_count,
  d.sources AS sources,
  c.id AS company_id,
  c.name AS company_name,
  c.domain AS company_domain,
  c.logoUrl AS company_logo_url,
  CASE WHEN l.company.id = c.id THEN l.company.isOrgCompany END AS company_is_org_company,
  synced_at,
  run_id
FROM parsed
