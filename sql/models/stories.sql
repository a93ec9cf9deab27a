-- table: stories
-- key: slug
-- documents: stories, story
-- scope: id -> slug

-- The list and the story's detail both have draft, archive and createdAt: each is taken whole from the newer one that
-- has it, so that two versions of a layout are never mixed.
WITH listed AS (FROM documents WHERE endpoint = 'stories'),
own AS (FROM documents WHERE endpoint = 'story'),
gathered AS (
  SELECT
    coalesce(listed.id, own.id) AS id,
    raw.younger_field(listed.body, listed.answer_no, own.body, own.answer_no, '$.draft') AS draft,
    raw.younger_field(listed.body, listed.answer_no, own.body, own.answer_no, '$.archive') AS archive,
    raw.younger_field(listed.body, listed.answer_no, own.body, own.answer_no, '$.createdAt') ->> '$' AS created_at,
    listed.body AS listed,
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
    from_json(draft, '{
      "title": "VARCHAR", "summary": "VARCHAR", "version": "VARCHAR",
      "detail": {"title": "VARCHAR", "main": "JSON", "sidebar": "JSON"}, "list": "JSON"
    }') AS d,
    from_json(archive, '{
      "archivedAt": "VARCHAR", "reason": "VARCHAR",
      "actor": {"type": "VARCHAR", "name": "VARCHAR", "image": "VARCHAR", "userId": "VARCHAR"}
    }') AS a,
    from_json(listed, '{
      "isRead": "BOOLEAN",
      "viewerRelevance": {
        "memberId": "VARCHAR", "relevanceKind": "VARCHAR", "relevanceLabel": "VARCHAR", "relevanceRationale": "VARCHAR",
        "linkedAuthorIds": ["VARCHAR"], "user": {"id": "VARCHAR", "name": "VARCHAR", "image": "VARCHAR"}
      }
    }') AS l,
    created_at,
    synced_at,
    run_id
  FROM gathered
)
SELECT
  id AS slug,
  d.title AS title,
  d.summary AS summary,
  d.version AS version,
  d.detail.title AS detail_title,
  d.detail.main AS detail_main,
  d.detail.sidebar AS detail_sidebar,
  d.list AS list,
  l.isRead AS is_read,
  l.viewerRelevance.memberId AS viewer_relevance_member_id,
  l.viewerRelevance.relevanceKind AS viewer_relevance_relevance_kind,
  l.viewerRelevance.relevanceLabel AS viewer_relevance_relevance_label,
  l.viewerRelevance.relevanceRationale AS viewer_relevance_relevance_rationale,
  l.viewerRelevance.linkedAuthorIds AS viewer_relevance_linked_author_ids,
  l.viewerRelevance.user.id AS viewer_relevance_user_id,
  l.viewerRelevance.user.name AS viewer_relevance_user_name,
  l.viewerRelevance.user.image AS viewer_relevance_user_image,
  raw.moment(created_at) AS created_at,
  raw.moment(a.archivedAt) AS archived_at,
  a.reason AS archived_reason,
  a.actor.type AS archived_actor_type,
  a.actor.name AS archived_actor_name,
  a.actor.image AS archived_actor_image,
  a.actor.userId AS archived_actor_user_id,
  synced_at,
  run_id
FROM parsed
