-- table: topic_people
-- key: topic_id, person_id
-- documents: topic_people, topic_persons
-- scope: parent_id -> topic_id

-- The topics list and the topic's people page both name people; the younger wins where it has the field at all. The
-- company is one thing, taken whole from the younger that says it. Only the list says whether it is our own: kept only
-- while the list speaks of the same company.
WITH gathered AS (
  SELECT
    parent_id AS topic_id,
    id AS person_id,
    list_reduce(
      list(body ORDER BY fetched_at, endpoint DESC),
      lambda older, younger: json_merge_patch(older, younger)
    ) AS said,
    arg_max_null(json_extract(body, '$.company'), (fetched_at, endpoint))
      FILTER (json_exists(body, '$.company')) AS company,
    any_value(body) FILTER (endpoint = 'topic_persons') AS listed,
    max(fetched_at) AS synced_at,
    max(run_id) AS run_id
  FROM documents
  GROUP BY parent_id, id
),
parsed AS (
  SELECT
    topic_id,
    person_id,
    from_json(said, '{
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
