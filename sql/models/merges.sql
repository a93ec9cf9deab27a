-- The history of either side has a merge: the source's names the target (mergedInto), the target's names the sources
-- (merges). An item that was merged into the same target twice has the time and user of the last merge; where both histories
-- have that merge, those of the newer answer. The last name of a merged item is in the target's history; the latest name of the
-- target is in its own row.
WITH parsed AS (
  SELECT
    replace(endpoint, '_merges', '') AS entity_type,
    id,
    from_json(body, '{
      "mergedInto": {
        "id": "VARCHAR", "mergedAt": "VARCHAR", "user": {"id": "VARCHAR", "name": "VARCHAR", "image": "VARCHAR"},
        "targetTopic": {"id": "VARCHAR", "title": "VARCHAR"},
        "targetCompany": {"id": "VARCHAR", "name": "VARCHAR"},
        "targetPerson": {"id": "VARCHAR", "name": "VARCHAR"}
      },
      "merges": [{
        "id": "VARCHAR", "mergedAt": "VARCHAR", "user": {"id": "VARCHAR", "name": "VARCHAR", "image": "VARCHAR"},
        "sourceTopics": [{"id": "VARCHAR", "title": "VARCHAR"}],
        "sourceCompanies": [{"id": "VARCHAR", "name": "VARCHAR"}],
        "sourcePersons": [{"id": "VARCHAR", "name": "VARCHAR"}]
      }]
    }') AS d,
    answer_no
  FROM raw.documents
  WHERE endpoint IN ('topic_merges', 'company_merges', 'person_merges')
),
from_source AS (
  SELECT
    entity_type,
    id AS source_id,
    NULL::VARCHAR AS source_name,
    CASE entity_type
      WHEN 'topic' THEN d.mergedInto.targetTopic.id
      WHEN 'company' THEN d.mergedInto.targetCompany.id
      ELSE d.mergedInto.targetPerson.id
    END AS target_id,
    CASE entity_type
      WHEN 'topic' THEN d.mergedInto.targetTopic.title
      WHEN 'company' THEN d.mergedInto.targetCompany.name
      ELSE d.mergedInto.targetPerson.name
    END AS target_name,
    d.mergedInto.id AS merge_id,
    d.mergedInto.mergedAt AS merged_at,
    d.mergedInto.user AS by_user,
    answer_no
  FROM parsed
),
listed AS (
  SELECT entity_type, id, unnest(d.merges) AS m, answer_no
  FROM parsed
),
spread AS (
  SELECT
    entity_type,
    id,
    m,
    unnest(
      CASE entity_type
        WHEN 'topic' THEN list_transform(m.sourceTopics, lambda s: {'id': s.id, 'name': s.title})
        WHEN 'company' THEN m.sourceCompanies
        ELSE m.sourcePersons
      END
    ) AS source,
    answer_no
  FROM listed
),
both_sides AS (
  SELECT *, (coalesce(raw.moment(merged_at), '-infinity'), answer_no, merge_id) AS rank
  FROM (
    SELECT * FROM from_source
    UNION ALL
    SELECT entity_type, source.id, source.name, id, NULL, m.id, m.mergedAt, m.user, answer_no
    FROM spread
  )
),
names AS (
  SELECT 'topic' AS entity_type, id, title AS name FROM topics
  UNION ALL
  SELECT 'company', id, name FROM companies
  UNION ALL
  SELECT 'person', id, display_name FROM people
),
merged AS (
  SELECT
    entity_type,
    source_id,
    arg_max(source_name, rank) AS source_name,
    target_id,
    arg_max(target_name, rank) AS target_name,
    arg_max(merge_id, rank) AS merge_id,
    raw.moment(arg_max_null(merged_at, rank)) AS merged_at,
    arg_max_null(by_user, rank) AS by_user
  FROM both_sides
  WHERE source_id IS NOT NULL AND target_id IS NOT NULL
  GROUP BY entity_type, source_id, target_id
)
SELECT
  merged.entity_type,
  source_id,
  coalesce(source_name, source.name) AS source_name,
  target_id,
  coalesce(target.name, target_name) AS target_name,
  merge_id,
  merged_at,
  by_user.id AS user_id,
  by_user.name AS user_name,
  by_user.image AS user_image
FROM merged
LEFT JOIN names AS source ON source.entity_type = merged.entity_type AND source.id = source_id
LEFT JOIN names AS target ON target.entity_type = merged.entity_type AND target.id = target_id
