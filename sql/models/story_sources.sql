-- table: story_sources
-- key: story_slug, position
-- documents: stories, story
-- scope: id -> story_slug

-- The list and the story's own page both carry the draft: its sources are those of the younger.
WITH gathered AS (
  SELECT
    id,
    arg_max_null(json_extract(body, '$.draft'), (fetched_at, endpoint)) FILTER (json_exists(body, '$.draft')) AS draft,
    max(fetched_at) FILTER (json_exists(body, '$.draft')) AS synced_at,
    arg_max(run_id, (fetched_at, endpoint)) FILTER (json_exists(body, '$.draft')) AS run_id
  FROM documents
  GROUP BY id
),
parsed AS (
  SELECT
    id,
    from_json(draft, '{"sourceRefs": [{"id": "VARCHAR", "type": "VARCHAR", "label": "VARCHAR"}]}').sourceRefs AS refs,
    synced_at,
    run_id
  FROM gathered
),
listed AS (
  SELECT
    id,
    unnest(refs) AS ref,
    generate_subscripts(refs, 1) AS position,
    synced_at,
    run_id
  FROM parsed
)
SELECT
  id AS story_slug,
  position,
  ref.type AS type,
  ref.id AS source_id,
  ref.label AS label,
  synced_at,
  run_id
FROM listed
