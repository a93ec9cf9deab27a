-- The topics that can be changed, as a sheet shows them; people and companies are counted as in the view backlog.
SELECT
  topics.id,
  topics.title,
  topics.summary,
  topics.issue_type,
  coalesce(reach.companies, 0) AS companies,
  coalesce(reach.vip_companies, 0) AS vip_companies,
  coalesce(reach.people, 0) AS people,
  topics.total_group_count AS conversations,
  topics.message_count AS messages,
  topics.priority,
  topics.lifecycle_state,
  CASE
    WHEN topics.archived_at IS NOT NULL THEN true
    WHEN json_type(own.body, '$.archivedAt') IS NOT NULL THEN false
    WHEN topics.graph_status = 'archived' THEN true
  END AS archived,
  topics.archived_reason,
  coalesce(topics.updated_at, topics.synced_at) AS base_updated_at
FROM topics
LEFT JOIN raw.documents AS own ON own.endpoint = 'topic' AND own.id = topics.id
LEFT JOIN (
  SELECT
    topic_id,
    count(*) FILTER (NOT is_staff) AS people,
    count(DISTINCT company_id) FILTER (NOT is_staff) AS companies,
    count(DISTINCT company_id) FILTER (NOT is_staff AND is_company_vip) AS vip_companies
  FROM (
    SELECT DISTINCT
      topic_people.topic_id,
      coalesce(final_ids.final_id, topic_people.person_id) AS person_id
    FROM topic_people
    LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = topic_people.person_id
  )
  JOIN person_roles USING (person_id)
  WHERE NOT is_bot
  GROUP BY topic_id
) AS reach ON reach.topic_id = topics.id
WHERE topics.deleted_at IS NULL
  AND topics.merged_into_id IS NULL
  AND topics.detail_unavailable_reason IS NULL
