-- The companies that can be changed, as a sheet shows them.
SELECT
  companies.id,
  companies.person_count AS people,
  companies.message_count AS messages,
  companies.last_seen_at,
  if(companies.is_org_company, true, NULL) AS our_company,
  companies.name,
  companies.is_vip,
  companies.primary_domain,
  companies.logo_url,
  companies.connections_email,
  companies.connections_github,
  companies.connections_linkedin,
  companies.connections_phone,
  companies.connections_twitter,
  companies.synced_at AS base_updated_at
FROM companies
WHERE companies.deleted_at IS NULL
  AND companies.merged_into_id IS NULL
  AND companies.detail_unavailable_reason IS NULL
