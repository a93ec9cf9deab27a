-- table: automation_templates
-- key: slug
-- documents: automation_templates, automation_template
-- scope: id -> slug

WITH listed AS (FROM documents WHERE endpoint = 'automation_templates'),
own AS (FROM documents WHERE endpoint = 'automation_template'),
gathered AS (
  SELECT
    coalesce(listed.id, own.id) AS id,
    raw.younger_wins(listed.body, listed.fetched_at, own.body, own.fetched_at) AS combined,
    greatest(listed.fetched_at, own.fetched_at) AS synced_at,
    greatest(listed.run_id, own.run_id) AS run_id
  FROM listed
  FULL JOIN own ON own.id = listed.id
),
parsed AS (
  SELECT
    id,
    combined,
    from_json(combined, '{
      "name": "VARCHAR", "description": "VARCHAR", "prompt": "VARCHAR", "schedule": "JSON", "timezone": "VARCHAR",
      "modelLevel": "VARCHAR", "capabilityMode": "VARCHAR", "allowedCapabilities": ["VARCHAR"],
      "createdAt": "VARCHAR", "updatedAt": "VARCHAR"
    }') AS d,
    synced_at,
    run_id
  FROM gathered
)
SELECT
  id AS slug,
  d.name AS name,
  d.description AS description,
  d.prompt AS prompt,
  d.schedule AS schedule,
  d.timezone AS timezone,
  d.modelLevel AS model_level,
  d.capabilityMode AS capability_mode,
  d.allowedCapabilities AS allowed_capabilities,
  raw.moment(d.createdAt) AS created_at,
  raw.moment(d.updatedAt) AS updated_at,
  combined AS body,
  synced_at,
  run_id
FROM parsed
