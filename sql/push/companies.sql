-- The companies in $ids with their values and what happened to them. Only a company's own page shows its
-- connections.
SELECT
  companies.id,
  companies.name AS title,
  to_json({
    'name': {'is_fetched': true, 'value': companies.name},
    'primary_domain': {'is_fetched': true, 'value': companies.primary_domain},
    'logo_url': {'is_fetched': true, 'value': companies.logo_url},
    'is_vip': {'is_fetched': companies.is_vip IS NOT NULL, 'value': companies.is_vip},
    'connections_email': {'is_fetched': own.id IS NOT NULL, 'value': companies.connections_email},
    'connections_github': {'is_fetched': own.id IS NOT NULL, 'value': companies.connections_github},
    'connections_linkedin': {'is_fetched': own.id IS NOT NULL, 'value': companies.connections_linkedin},
    'connections_phone': {'is_fetched': own.id IS NOT NULL, 'value': companies.connections_phone},
    'connections_twitter': {'is_fetched': own.id IS NOT NULL, 'value': companies.connections_twitter}
  })::VARCHAR AS "values",
  strftime(
    greatest(companies.synced_at, listed.read_at) AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'
  ) AS "syncedAt",
  companies.deleted_at IS NOT NULL AS is_deleted,
  companies.deleted_reason,
  companies.merged_into_id,
  survivors.name AS survivor_title,
  companies.detail_unavailable_reason
FROM companies
LEFT JOIN companies AS survivors ON survivors.id = companies.merged_into_id
CROSS JOIN (
  SELECT arg_max(started_at, run_id) FILTER (verified) AS read_at FROM ops.scans WHERE endpoint = 'companies'
) AS listed
LEFT JOIN raw.documents AS own ON own.endpoint = 'company' AND own.id = companies.id
WHERE companies.id IN (SELECT unnest($ids));
