-- A conversation may be in several topics: the most urgent one that still exists counts. Chosen by id alone: whole topics, with
-- their long texts, take 3 s for 22,000 conversations.
CREATE OR REPLACE VIEW conversation_topics AS
WITH chosen AS (
  SELECT
    topic_groups.group_id,
    arg_min(
      topics.id,
      (
        coalesce(list_position(['very_high', 'high', 'default', 'low', 'very_low'], topics.priority), 6),
        topics.id
      )
    ) AS topic_id
  FROM topic_groups
  JOIN topics ON topics.id = topic_groups.topic_id
  WHERE topics.deleted_at IS NULL
  GROUP BY topic_groups.group_id
)
SELECT chosen.group_id, chosen.topic_id, topics.title, topics.priority, topics.lifecycle_state
FROM chosen
JOIN topics ON topics.id = chosen.topic_id;

COMMENT ON VIEW conversation_topics IS 'Which topic does a conversation count for? One row per conversation that is in a topic: the most urgent one where there are several, without deleted ones.';
COMMENT ON COLUMN conversation_topics.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN conversation_topics.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN conversation_topics.title IS 'Title of the topic.';
COMMENT ON COLUMN conversation_topics.priority IS 'Priority of the topic.';
COMMENT ON COLUMN conversation_topics.lifecycle_state IS 'Lifecycle state of the topic. NULL when it was never assessed.';
