-- What was fetched and is not merged into the tables yet, as it came: each batch is appended in one transaction, and the
-- merge empties these tables in the one that stores what they say. Only the live file has them, and appended.made.

CREATE SCHEMA IF NOT EXISTS appended;

CREATE TABLE IF NOT EXISTS appended.batches (run_id VARCHAR);
COMMENT ON TABLE appended.batches IS 'One row per batch that is not merged yet.';
COMMENT ON COLUMN appended.batches.run_id IS 'Run that fetched it (ops.runs).';

CREATE TABLE IF NOT EXISTS appended.documents (
  endpoint VARCHAR, id VARCHAR, parent_id VARCHAR, body JSON, fetched_at TIMESTAMPTZ, answer_no BIGINT,
  parts_hash VARCHAR
);
COMMENT ON TABLE appended.documents IS 'Documents, once for each answer that has them. Columns as in raw.documents.';
COMMENT ON COLUMN appended.documents.endpoint IS 'Kind of document.';
COMMENT ON COLUMN appended.documents.id IS 'The API''s id of the thing.';
COMMENT ON COLUMN appended.documents.parent_id IS 'Id of the thing it belongs to; NULL where it stands on its own.';
COMMENT ON COLUMN appended.documents.body IS 'What the API said, as JSON.';
COMMENT ON COLUMN appended.documents.fetched_at IS 'When its answer arrived (UTC).';
COMMENT ON COLUMN appended.documents.answer_no IS 'Number of its answer.';
COMMENT ON COLUMN appended.documents.parts_hash IS 'Hash of the parts that were taken out of it.';

CREATE TABLE IF NOT EXISTS appended.removed (endpoint VARCHAR, id VARCHAR, parent_id VARCHAR, answer_no BIGINT);
COMMENT ON TABLE appended.removed IS 'Documents to delete, unless a later answer has them.';
COMMENT ON COLUMN appended.removed.endpoint IS 'Kind of document.';
COMMENT ON COLUMN appended.removed.id IS 'Its id.';
COMMENT ON COLUMN appended.removed.parent_id IS 'Id of the thing it belongs to; NULL where it stands on its own.';
COMMENT ON COLUMN appended.removed.answer_no IS 'Number of the answer that shows that it is gone.';

CREATE TABLE IF NOT EXISTS appended.sets (
  set_no BIGINT, endpoint VARCHAR, parent_id VARCHAR, fetched_at TIMESTAMPTZ, answer_no BIGINT
);
COMMENT ON TABLE appended.sets IS 'Answers that have all documents of a kind and parent: what they do not name is deleted, unless a later answer has it.';
COMMENT ON COLUMN appended.sets.set_no IS 'Number of the set.';
COMMENT ON COLUMN appended.sets.endpoint IS 'Kind of the documents.';
COMMENT ON COLUMN appended.sets.parent_id IS 'Their parent.';
COMMENT ON COLUMN appended.sets.fetched_at IS 'When the answer arrived (UTC).';
COMMENT ON COLUMN appended.sets.answer_no IS 'Number of the answer.';

CREATE TABLE IF NOT EXISTS appended.members (set_no BIGINT, id VARCHAR);
COMMENT ON TABLE appended.members IS 'The ids that a set names.';
COMMENT ON COLUMN appended.members.set_no IS 'Number of the set.';
COMMENT ON COLUMN appended.members.id IS 'Id of a document of its kind and parent.';

CREATE TABLE IF NOT EXISTS appended.coverage (
  endpoint VARCHAR, entity_id VARCHAR, fetched_at TIMESTAMPTZ, answer_no BIGINT, fingerprint VARCHAR, counters VARCHAR,
  status BIGINT, error VARCHAR, reason VARCHAR, settled BOOLEAN, good BOOLEAN, bad BOOLEAN,
  stratum VARCHAR, asked_no BIGINT
);
COMMENT ON TABLE appended.coverage IS 'Requests for children and their results, in their order; most columns as in ops.coverage.';
COMMENT ON COLUMN appended.coverage.endpoint IS 'Name of the child.';
COMMENT ON COLUMN appended.coverage.entity_id IS 'Id of its parent.';
COMMENT ON COLUMN appended.coverage.fetched_at IS 'When it was asked for (UTC).';
COMMENT ON COLUMN appended.coverage.answer_no IS 'Number of the answer; NULL leaves the stored one.';
COMMENT ON COLUMN appended.coverage.fingerprint IS 'The parent''s fingerprint at that time.';
COMMENT ON COLUMN appended.coverage.counters IS 'The parent''s change fields at that time, as JSON.';
COMMENT ON COLUMN appended.coverage.status IS 'HTTP status of the answer; NULL when none came.';
COMMENT ON COLUMN appended.coverage.error IS 'What went wrong; NULL when the answer was good.';
COMMENT ON COLUMN appended.coverage.reason IS 'Why it is no longer due.';
COMMENT ON COLUMN appended.coverage.settled IS 'Whether date and fingerprint move: not where it stays due.';
COMMENT ON COLUMN appended.coverage.good IS 'Whether it ends the count of attempts.';
COMMENT ON COLUMN appended.coverage.bad IS 'Whether it counts as an attempt.';
COMMENT ON COLUMN appended.coverage.stratum IS 'As in ops.audits; NULL where it is no check.';
COMMENT ON COLUMN appended.coverage.asked_no IS 'Number of the last answer when it was asked for; NULL leaves the stored one.';

CREATE TABLE IF NOT EXISTS appended.rejections (
  endpoint VARCHAR, parent_id VARCHAR, id VARCHAR, path VARCHAR, reason VARCHAR, body VARCHAR, seen_at TIMESTAMPTZ
);
COMMENT ON TABLE appended.rejections IS 'Items that do not have the documented form; columns as in ops.rejected_records.';
COMMENT ON COLUMN appended.rejections.endpoint IS 'Kind of item.';
COMMENT ON COLUMN appended.rejections.parent_id IS 'Id of the thing it belongs to.';
COMMENT ON COLUMN appended.rejections.id IS 'Its id, where it has one.';
COMMENT ON COLUMN appended.rejections.path IS 'Where in the item.';
COMMENT ON COLUMN appended.rejections.reason IS 'What is wrong.';
COMMENT ON COLUMN appended.rejections.body IS 'The item, as JSON.';
COMMENT ON COLUMN appended.rejections.seen_at IS 'When it came (UTC).';

CREATE TABLE IF NOT EXISTS appended.drift (
  endpoint VARCHAR, path VARCHAR, kind VARCHAR, example VARCHAR, occurrences BIGINT, seen_at TIMESTAMPTZ
);
COMMENT ON TABLE appended.drift IS 'Differences between the contract and items that were stored nevertheless; columns as in ops.schema_drift.';
COMMENT ON COLUMN appended.drift.endpoint IS 'Kind of item.';
COMMENT ON COLUMN appended.drift.path IS 'Where in the item.';
COMMENT ON COLUMN appended.drift.kind IS 'What differs.';
COMMENT ON COLUMN appended.drift.example IS 'A value.';
COMMENT ON COLUMN appended.drift.occurrences IS 'In how many items.';
COMMENT ON COLUMN appended.drift.seen_at IS 'When they came (UTC).';

CREATE TABLE IF NOT EXISTS appended.made (what VARCHAR, checksum VARCHAR);
COMMENT ON TABLE appended.made IS 'What the live file has that was made of the rest of it, and is as it would be made now.';
COMMENT ON COLUMN appended.made.what IS 'views: those that publications copy; derived: the tables that are computed from other tables; entities: ops.entities.';
COMMENT ON COLUMN appended.made.checksum IS 'SHA-256 of the text that it was made with.';
