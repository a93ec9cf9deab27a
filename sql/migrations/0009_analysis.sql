-- What no answer of the API says, and this worker knows from having asked for it or having looked often.

CREATE TABLE history_requests (
  history_id VARCHAR,
  change_id VARCHAR,
  requested_by VARCHAR,
  requested_reason VARCHAR
);
COMMENT ON TABLE history_requests IS 'Which records of the history a change made that was queued here: the API shows them as made by its key. One row per record. Key: history_id.';
COMMENT ON COLUMN history_requests.history_id IS 'The record (history.id).';
COMMENT ON COLUMN history_requests.change_id IS 'The change (ops.changes.id).';
COMMENT ON COLUMN history_requests.requested_by IS 'The person who requested it. NULL when nobody was named.';
COMMENT ON COLUMN history_requests.requested_reason IS 'Why: the reason that was given with the request, or that for the archiving. NULL when none was given.';

CREATE TABLE topic_group_versions (
  topic_id VARCHAR,
  group_id VARCHAR,
  first_seen_at TIMESTAMPTZ,
  last_seen_at TIMESTAMPTZ,
  previous_topic_id VARCHAR,
  reason VARCHAR
);
COMMENT ON TABLE topic_group_versions IS 'Since when which conversation is in which topic, and until when it was, as this warehouse has seen it. Key: topic_id, group_id, first_seen_at.';
COMMENT ON COLUMN topic_group_versions.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN topic_group_versions.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN topic_group_versions.first_seen_at IS 'When an answer first had it there (UTC); or earlier, where the reason is or_earlier.';
COMMENT ON COLUMN topic_group_versions.last_seen_at IS 'When an answer first showed that it was no longer there (UTC). NULL while it is there.';
COMMENT ON COLUMN topic_group_versions.previous_topic_id IS 'The topic in which it was before (topics.id). NULL when it was in none that is known.';
COMMENT ON COLUMN topic_group_versions.reason IS 'Why it came: or_earlier (it was there when the warehouse first looked), new, moved (from another topic) or merged (its topic was merged).';
