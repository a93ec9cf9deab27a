-- What is known goes on: a conversation that is in its topic no longer gets its end, one that is new in its topic a row.
WITH known AS (
  SELECT
    own.topic_id,
    own.group_id,
    own.first_seen_at,
    CASE
      WHEN own.last_seen_at IS NULL AND listed.group_id IS NULL
        THEN greatest(own.first_seen_at, coalesce(topics.deleted_at, answers.fetched_at, own.first_seen_at))
      ELSE own.last_seen_at
    END AS last_seen_at,
    own.previous_topic_id,
    own.reason
  FROM topic_group_versions AS own
  LEFT JOIN topic_groups AS listed USING (topic_id, group_id)
  LEFT JOIN topics ON topics.id = own.topic_id
  LEFT JOIN ops.coverage AS answers ON answers.endpoint = 'topic_groups' AND answers.entity_id = own.topic_id
),
ended AS (
  SELECT group_id, arg_max(topic_id, (last_seen_at, topic_id)) AS topic_id
  FROM known
  WHERE last_seen_at IS NOT NULL
  GROUP BY group_id
),
came AS (
  SELECT
    listed.topic_id,
    listed.group_id,
    listed.synced_at AS first_seen_at,
    nullif(ended.topic_id, listed.topic_id) AS previous_topic_id
  FROM topic_groups AS listed
  ANTI JOIN (SELECT * FROM known WHERE last_seen_at IS NULL) AS open USING (topic_id, group_id)
  LEFT JOIN ended USING (group_id)
),
beginning AS (
  SELECT min(first_seen_at) AS looked_at FROM (SELECT first_seen_at FROM known UNION ALL SELECT first_seen_at FROM came)
)
SELECT * FROM known
UNION ALL
SELECT
  came.topic_id,
  came.group_id,
  came.first_seen_at,
  NULL AS last_seen_at,
  came.previous_topic_id,
  CASE
    WHEN previous.merged_into_id IS NOT NULL THEN 'merged'
    WHEN came.previous_topic_id IS NOT NULL THEN 'moved'
    WHEN topics.created_at < looked_at AND came.topic_id NOT IN (SELECT topic_id FROM known) THEN 'or_earlier'
    ELSE 'new'
  END AS reason
FROM came
CROSS JOIN beginning
LEFT JOIN topics ON topics.id = came.topic_id
LEFT JOIN topics AS previous ON previous.id = came.previous_topic_id
