-- table: company_identities
-- key: company_id, platform, platform_id
-- documents: company_identities
-- scope: parent_id -> company_id

WITH parsed AS (
  SELECT
    parent_id,
    from_json(body, '{
      "id": "VARCHAR", "platform": "VARCHAR", "platformId": "VARCHAR", "platformUsername": "VARCHAR"
    }') AS d,
    fetched_at,
    run_id
  FROM documents
)
SELECT
  parent_id AS company_id,
  d.platform AS platform,
  d.platformId AS platform_id,
  d.id AS id,
  d.platformUsername AS platform_username,
  fetched_at AS synced_at,
  run_id
FROM parsed
WHERE d.platform IS NOT NULL AND d.platformId IS NOT NULL
