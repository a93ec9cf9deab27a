-- The same conversation comes from topics, companies and people. Only topics have its title, only the others name a
-- topic, and both have the rest. So the newest of either form is taken, and of these two the newer wins where it has the
-- field at all. The topic is taken whole. Only narrow columns are sorted; bodies are joined.
WITH latest AS (
  SELECT id, endpoint, parent_id, endpoint = 'topic_groups' AS is_listing
  FROM documents
  QUALIFY row_number() OVER (PARTITION BY id, is_listing ORDER BY answer_no DESC, endpoint, parent_id) = 1
),
ages AS (
  SELECT id, arg_max(fetched_at, answer_no) AS synced_at
  FROM documents
  GROUP BY id
),
listed AS (
  SELECT documents.*
  FROM documents
  JOIN latest USING (id, endpoint, parent_id)
  WHERE is_listing
),
named AS (
  SELECT documents.*
  FROM documents
  JOIN latest USING (id, endpoint, parent_id)
  WHERE NOT is_listing
),
gathered AS (
  SELECT
    ages.id,
    raw.younger_wins(
      named.body, named.answer_no, named.fetched_at, listed.body, listed.answer_no, listed.fetched_at
    ) AS combined,
    json_extract(named.body, '$.topic') AS topic,
    ages.synced_at
  FROM ages
  LEFT JOIN listed ON listed.id = ages.id
  LEFT JOIN named ON named.id = ages.id
),
parsed AS (
  SELECT
    id,
    from_json(combined, '{"group": {
      "title": "VARCHAR", "startTimestamp": "VARCHAR", "endTimestamp": "VARCHAR", "archivedAt": "VARCHAR",
      "similarityAtAssignment": "DOUBLE"
    }}').group AS d,
    from_json(topic, '{
      "topicId": "VARCHAR", "topicTitle": "VARCHAR", "topicType": "VARCHAR", "isV2": "BOOLEAN",
      "keywords": ["VARCHAR"], "sources": ["VARCHAR"], "linkedIssueKey": "VARCHAR"
    }') AS t,
    synced_at
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
  synced_at
FROM parsed
