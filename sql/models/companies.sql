-- table: companies
-- key: id
-- documents: companies, company, company_activity, company_presence, company_merges
-- scope: id -> id

-- The list, the company's detail and its activity share fields: merged in the order of their age, so that the newest
-- wins where it has the field at all. Joined, not grouped, as in topics.
WITH listed AS (FROM documents WHERE endpoint = 'companies'),
own AS (FROM documents WHERE endpoint = 'company'),
activity AS (FROM documents WHERE endpoint = 'company_activity'),
found AS (FROM documents WHERE endpoint = 'company_presence'),
history AS (FROM documents WHERE endpoint = 'company_merges'),
gathered AS (
  SELECT
    coalesce(listed.id, own.id) AS id,
    list_reduce(
      list_transform(
        list_sort(
          list_filter(
            [
              {'no': listed.answer_no, 'place': 1, 'body': listed.body},
              {'no': own.answer_no, 'place': 2, 'body': own.body},
              {'no': activity.answer_no, 'place': 3, 'body': activity.body}
            ],
            lambda it: it.body IS NOT NULL
          )
        ),
        lambda it: it.body
      ),
      lambda older, younger: json_merge_patch(older, younger)
    ) AS combined,
    found.body AS presence,
    history.body AS merges,
    greatest(listed.answer_no, own.answer_no, activity.answer_no, found.answer_no, history.answer_no) AS newest_no,
    CASE newest_no
      WHEN listed.answer_no THEN listed.fetched_at
      WHEN own.answer_no THEN own.fetched_at
      WHEN activity.answer_no THEN activity.fetched_at
      WHEN found.answer_no THEN found.fetched_at
      WHEN history.answer_no THEN history.fetched_at
    END AS synced_at,
    CASE newest_no
      WHEN listed.answer_no THEN listed.run_id
      WHEN own.answer_no THEN own.run_id
      WHEN activity.answer_no THEN activity.run_id
      WHEN found.answer_no THEN found.run_id
      WHEN history.answer_no THEN history.run_id
    END AS run_id
  FROM listed
  FULL JOIN own ON own.id = listed.id
  LEFT JOIN activity ON activity.id = coalesce(listed.id, own.id)
  LEFT JOIN found ON found.id = coalesce(listed.id, own.id)
  LEFT JOIN history ON history.id = coalesce(listed.id, own.id)
),
parsed AS (
  SELECT
    id,
    from_json(combined, '{
      "name": "VARCHAR", "primaryDomain": "VARCHAR", "logoUrl": "VARCHAR", "isOrgCompany": "BOOLEAN", "isVip": "BOOLEAN",
      "connections": {
        "email": "VARCHAR", "github": "VARCHAR", "linkedin": "VARCHAR", "phone": "VARCHAR", "twitter": "VARCHAR"
      },
      "personCount": "BIGINT", "messageCount": "BIGINT", "weeklyActivity": ["DOUBLE"],
      "lastSeenAt": "VARCHAR", "createdAt": "VARCHAR"
    }') AS d,
    from_json(presence, '{
      "deletedAt": "VARCHAR", "deletedReason": "VARCHAR", "mergedIntoId": "VARCHAR", "detailUnavailableReason": "VARCHAR"
    }') AS p,
    from_json(merges, '{"mergedInto": {"targetCompany": {"id": "VARCHAR"}}}') AS m,
    synced_at,
    run_id
  FROM gathered
)
SELECT
  id,
  d.name AS name,
  d.primaryDomain AS primary_domain,
  d.logoUrl AS logo_url,
  d.isOrgCompany AS is_org_company,
  d.isVip AS is_vip,
  d.connections.email AS connections_email,
  d.connections.github AS connections_github,
  d.connections.linkedin AS connections_linkedin,
  d.connections.phone AS connections_phone,
  d.connections.twitter AS connections_twitter,
  d.personCount AS person_count,
  d.messageCount AS message_count,
  d.weeklyActivity AS weekly_activity,
  raw.moment(d.lastSeenAt) AS last_seen_at,
  raw.moment(d.createdAt) AS created_at,
  raw.moment(p.deletedAt) AS deleted_at,
  p.deletedReason AS deleted_reason,
  coalesce(p.mergedIntoId, m.mergedInto.targetCompany.id) AS merged_into_id,
  p.detailUnavailableReason AS detail_unavailable_reason,
  synced_at,
  run_id
FROM parsed
