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
