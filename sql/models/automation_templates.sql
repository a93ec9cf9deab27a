-- table: automation_templates
-- key: slug
-- documents: automation_templates, automation_template
-- scope: id -> slug

WITH gathered AS (
  SELECT
    id,
    list_reduce(
      list(body ORDER BY fetched_at, endpoint DESC),
      lambda older, younger: json_merge_patch(older, younger)
    ) AS said,
    max(fetched_at) AS synced_at,
    max(run_id) AS run_id
  FROM documents
  GROUP BY id
),
parsed AS (
  SELECT
    id,
    said,
    from_json(said, '{
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
  said AS body,
  synced_at,
  run_id
FROM parsed
