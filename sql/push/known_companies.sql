-- What is known of the companies in $ids. Connections stand on a company's own page alone.
SELECT
  companies.id,
  to_json({
    'name': {'known': true, 'value': companies.name},
    'primary_domain': {'known': true, 'value': companies.primary_domain},
    'logo_url': {'known': true, 'value': companies.logo_url},
    'is_vip': {'known': companies.is_vip IS NOT NULL, 'value': companies.is_vip},
    'connections_email': {'known': own.id IS NOT NULL, 'value': companies.connections_email},
    'connections_github': {'known': own.id IS NOT NULL, 'value': companies.connections_github},
    'connections_linkedin': {'known': own.id IS NOT NULL, 'value': companies.connections_linkedin},
    'connections_phone': {'known': own.id IS NOT NULL, 'value': companies.connections_phone},
    'connections_twitter': {'known': own.id IS NOT NULL, 'value': companies.connections_twitter}
  })::VARCHAR AS "values",
  companies.synced_at,
  companies.deleted_at IS NOT NULL AS is_deleted,
  companies.deleted_reason,
  companies.merged_into_id,
  survivors.name AS merged_into_title,
  companies.detail_unavailable_reason,
  false AS is_superseded,
  NULL::VARCHAR AS successor_id
FROM companies
LEFT JOIN companies AS survivors ON survivors.id = companies.merged_into_id
LEFT JOIN raw.documents AS own ON own.endpoint = 'company' AND own.id = companies.id
WHERE companies.id IN (SELECT unnest($ids));
