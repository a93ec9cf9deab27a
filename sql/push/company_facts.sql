-- What reports say about the companies; only a topic can be archived or superseded.
SELECT
  companies.id,
  companies.name AS title,
  NULL::VARCHAR AS archived_on,
  false AS is_superseded,
  NULL::VARCHAR AS successor_id,
  NULL::VARCHAR AS successor_title,
  companies.merged_into_id,
  survivors.name AS merged_into_title,
  companies.deleted_at IS NOT NULL AS is_deleted,
  companies.deleted_reason
FROM companies
LEFT JOIN companies AS survivors ON survivors.id = companies.merged_into_id
WHERE companies.id IN (SELECT unnest($ids));
