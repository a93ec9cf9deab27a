-- table: groups
-- key: id
-- documents: topic_groups, company_groups, person_groups
-- scope: id -> id

-- The same conversation comes by its topic, by companies and by people; the younger wins where it has the field at
-- all. The topic that companies and people name is one thing, taken whole from the youngest that names one.
WITH gathered AS (
  SELECT
    id,
    list_reduce(
      list(body ORDER BY fetched_at, endpoint DESC, parent_id),
      lambda older, younger: json_merge_patch(older, younger)
    ) AS said,
    arg_max_null(json_extract(body, '$.topic'), (fetched_at, endpoint, parent_id))
      FILTER (json_exists(body, '$.topic')) AS topic,
    max(fetched_at) AS synced_at,
    max(run_id) AS run_id
  FROM documents
  GROUP BY id
),
parsed AS (
  SELECT
    id,
    from_json(said, '{"group": {
      "title": "VARCHAR", "startTimestamp": "VARCHAR", "endTimestamp": "VARCHAR", "archivedAt": "VARCHAR",
      "similarityAtAssignment": "DOUBLE"
    }}').group AS d,
    from_json(topic, '{
      "topicId": "VARCHAR", "topicTitle": "VARCHAR", "topicType": "VARCHAR", "isV2": "BOOLEAN",
      "keywords": ["VARCHAR"], "sources": ["VARCHAR"], "linkedIssueKey": "VARCHAR"
    }') AS t,
    synced_at,
    run_id
  FROM gathered
)
SELECT
  id,
  d.title AS title,
  raw.moment(d.startTimestamp) AS start_timestamp,
  raw.moment(d.endTimestamp) AS end_timestamp,
  raw.moment(d.archivedAt) AS archived_at,
  d.similarityAtAssignment AS similarity_at_assignment,
  t.topicId AS topic_id,
  t.topicTitle AS topic_title,
  t.topicType AS topic_type,
  t.isV2 AS topic_is_v2,
  t.keywords AS topic_keywords,
  t.sources AS topic_sources,
  t.linkedIssueKey AS topic_linked_issue_key,
  synced_at,
  run_id
FROM parsed
