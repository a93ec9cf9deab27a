-- table: automation_templates
-- key: slug
-- documents: automation_templates, automation_template
-- scope: id -> slug

WITH listed AS (FROM documents WHERE endpoint = 'automation_templates'),
own AS (FROM documents WHERE endpoint = 'automation_template'),
gathered AS (
  SELECT
    coalesce(listed.id, own.id) AS id,
    raw.younger_wins(listed.body, listed.answer_no, own.body, own.answer_no) AS combined,
    -- Two kinds of schedules must not become one.
    raw.younger_field(listed.body, listed.answer_no, own.body, own.answer_no, '$.schedule') AS schedule,
    greatest(listed.answer_no, own.answer_no) AS newest_no,
    CASE newest_no
      WHEN listed.answer_no THEN listed.fetched_at
      WHEN own.answer_no THEN own.fetched_at
    END AS synced_at,
    CASE newest_no
      WHEN listed.answer_no THEN listed.run_id
      WHEN own.answer_no THEN own.run_id
    END AS run_id
  FROM listed
  FULL JOIN own ON own.id = listed.id
),
parsed AS (
  SELECT
    id,
    combined,
    schedule,
    from_json(combined, '{
      "name": "VARCHAR", "description": "VARCHAR", "prompt": "VARCHAR", "timezone": "VARCHAR",
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
  nullif(schedule, 'null'::JSON) AS schedule,
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
