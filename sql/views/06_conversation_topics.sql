-- A conversation may be in several topics: an open one counts before a closed one, and then the most urgent. Chosen by id alone:
-- whole topics, with their long texts, take 3 s for 22,000 conversations.
CREATE OR REPLACE VIEW conversation_topics AS
WITH standing AS (
  SELECT
    topics.id AS topic_id,
    open_topics.topic_id IS NOT NULL AS is_open,
    topics.priority_rank
  FROM topics
  LEFT JOIN open_topics ON open_topics.topic_id = topics.id
  WHERE topics.deleted_at IS NULL
),
chosen AS (
  SELECT
    topic_groups.group_id,
    arg_min(standing.topic_id, (NOT standing.is_open, coalesce(standing.priority_rank, 6), standing.topic_id)) AS topic_id
  FROM topic_groups
  JOIN standing ON standing.topic_id = topic_groups.topic_id
  GROUP BY topic_groups.group_id
)
SELECT
  chosen.group_id,
  chosen.topic_id,
  topics.title,
  topics.priority,
  standing.priority_rank,
  topics.lifecycle_state,
  standing.is_open
FROM chosen
JOIN standing ON standing.topic_id = chosen.topic_id
JOIN topics ON topics.id = chosen.topic_id;

COMMENT ON VIEW conversation_topics IS 'Which topic does a conversation count for? One row per conversation that is in a topic: where there are several, an open one before a closed one, and then the most urgent. Without deleted ones.';
COMMENT ON COLUMN conversation_topics.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN conversation_topics.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN conversation_topics.title IS 'Title of the topic.';
COMMENT ON COLUMN conversation_topics.priority IS 'Priority of the topic.';
COMMENT ON COLUMN conversation_topics.priority_rank IS 'The priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN conversation_topics.lifecycle_state IS 'Lifecycle state of the topic. NULL when it was never assessed.';
COMMENT ON COLUMN conversation_topics.is_open IS 'True when the topic is open (open_topics).';
