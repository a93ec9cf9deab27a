-- table: story_sources
-- key: story_slug, position
-- documents: stories, story
-- scope: id -> story_slug

-- The list and the story's detail both have the draft: its sources are those of the newer one.
WITH listed AS (FROM documents WHERE endpoint = 'stories' AND json_exists(body, '$.draft')),
own AS (FROM documents WHERE endpoint = 'story' AND json_exists(body, '$.draft')),
gathered AS (
  SELECT
    coalesce(listed.id, own.id) AS id,
    raw.younger_field(listed.body, listed.fetched_at, own.body, own.fetched_at, '$.draft') AS draft,
    greatest(listed.fetched_at, own.fetched_at) AS synced_at,
    greatest(listed.run_id, own.run_id) AS run_id
  FROM listed
  FULL JOIN own ON own.id = listed.id
),
parsed AS (
  SELECT
    id,
    from_json(draft, '{"sourceRefs": [{"id": "VARCHAR", "type": "VARCHAR", "label": "VARCHAR"}]}').sourceRefs AS refs,
    synced_at,
    run_id
  FROM gathered
),
spread AS (
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
FROM spread
