-- table: companies
-- key: id
-- documents: companies, company, company_activity, company_presence, company_merges
-- scope: id -> id

-- The list, the company's own page and its activity say fields each; the younger wins where it has the field at all.
WITH gathered AS (
  SELECT
    id,
    list_reduce(
      list(body ORDER BY fetched_at, endpoint) FILTER (endpoint IN ('companies', 'company', 'company_activity')),
      lambda older, younger: json_merge_patch(older, younger)
    ) AS said,
    bool_or(endpoint IN ('companies', 'company')) AS is_known,
    any_value(body) FILTER (endpoint = 'company_presence') AS presence,
    any_value(body) FILTER (endpoint = 'company_merges') AS merges,
    max(fetched_at) AS synced_at,
    max(run_id) AS run_id
  FROM documents
  GROUP BY id
),
parsed AS (
  SELECT
    id,
    from_json(said, '{
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
  WHERE is_known
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
