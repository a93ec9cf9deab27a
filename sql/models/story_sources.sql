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
    raw.younger_field(listed.body, listed.answer_no, own.body, own.answer_no, '$.draft') AS draft,
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
