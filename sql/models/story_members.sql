-- table: story_members
-- key: story_slug, member_id
-- documents: story
-- scope: id -> story_slug

WITH parsed AS (
  SELECT
    id,
    from_json(body, '{
      "relevantMembers": [{
        "memberId": "VARCHAR", "relevanceKind": "VARCHAR", "relevanceLabel": "VARCHAR", "relevanceRationale": "VARCHAR",
        "linkedAuthorIds": ["VARCHAR"], "user": {"id": "VARCHAR", "name": "VARCHAR", "image": "VARCHAR"}
      }]
    }').relevantMembers AS members,
    fetched_at,
    run_id
  FROM documents
),
listed AS (
  SELECT
    id,
    unnest(members) AS m,
    generate_subscripts(members, 1) AS position,
    fetched_at,
    run_id
  FROM parsed
)
SELECT
  id AS story_slug,
  m.memberId AS member_id,
  m.relevanceKind AS relevance_kind,
  m.relevanceLabel AS relevance_label,
  m.relevanceRationale AS relevance_rationale,
  m.linkedAuthorIds AS linked_author_ids,
  m.user.id AS user_id,
  m.user.name AS user_name,
  m.user.image AS user_image,
  fetched_at AS synced_at,
  run_id
FROM listed
WHERE m.memberId IS NOT NULL
-- A member that is listed twice counts once, at the first place.
QUALIFY row_number() OVER (PARTITION BY id, m.memberId ORDER BY position) = 1
