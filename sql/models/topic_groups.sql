-- A topic's list of conversations has it under the topic (any number of topics may). The conversations of a company or
-- person name one topic for it: that counts unless it is older than the topics' own lists.
WITH parsed AS (
  SELECT
    id AS group_id,
    parent_id,
    endpoint = 'topic_groups' AS is_listing,
    from_json(body, '{"group": {"similarityAtAssignment": "DOUBLE"}, "topic": {"topicId": "VARCHAR"}}') AS d,
    fetched_at,
    answer_no
  FROM documents
),
latest AS (
  SELECT
    group_id,
    max(answer_no) FILTER (is_listing) AS listed_no,
    max(answer_no) FILTER (NOT is_listing) AS named_no
  FROM parsed
  GROUP BY group_id
),
latest_links AS (
  SELECT
    CASE WHEN is_listing THEN parent_id ELSE d.topic.topicId END AS topic_id,
    group_id,
    is_listing,
    d.group.similarityAtAssignment AS similarity,
    fetched_at,
    answer_no
  FROM parsed
  JOIN latest USING (group_id)
  WHERE is_listing OR (answer_no = named_no AND (listed_no IS NULL OR named_no >= listed_no))
)
SELECT
  topic_id,
  group_id,
  max(similarity) FILTER (is_listing) AS similarity_at_assignment,
  arg_max(fetched_at, answer_no) AS synced_at
FROM latest_links
WHERE topic_id IS NOT NULL
GROUP BY topic_id, group_id
