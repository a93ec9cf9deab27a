CREATE TABLE topic_votes (
  topic_id VARCHAR,
  id VARCHAR,
  person_id VARCHAR,
  value INTEGER,
  cast_at TIMESTAMPTZ,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE topic_votes IS 'Votes for a topic. Key: topic_id, id.';
COMMENT ON COLUMN topic_votes.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN topic_votes.id IS 'Identifier of the vote.';
COMMENT ON COLUMN topic_votes.person_id IS 'Who voted (people.id).';
COMMENT ON COLUMN topic_votes.value IS '1 for the topic, -1 against it.';
COMMENT ON COLUMN topic_votes.cast_at IS 'When it was cast.';
COMMENT ON COLUMN topic_votes.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN topic_votes.run_id IS 'Run that last changed this row (ops.runs).';
