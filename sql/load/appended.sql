-- What was fetched and is not merged into the tables yet, as it came: each batch is appended in one transaction, and the
-- merge empties these tables in the one that stores what they say. Only the live file has them, and appended.made; so their columns
-- are explained here alone.

CREATE SCHEMA IF NOT EXISTS appended;

-- A row for each batch that is not merged yet: the run that fetched it (ops.runs).
CREATE TABLE IF NOT EXISTS appended.batches (run_id VARCHAR);

-- Documents, once for each answer that has them. Columns as in raw.documents.
CREATE TABLE IF NOT EXISTS appended.documents (
  endpoint VARCHAR, id VARCHAR, parent_id VARCHAR, body JSON, fetched_at TIMESTAMPTZ, answer_no BIGINT,
  parts_hash VARCHAR
);

-- Documents to delete, unless an answer later than answer_no, which shows that they are gone, has them.
CREATE TABLE IF NOT EXISTS appended.removed (endpoint VARCHAR, id VARCHAR, parent_id VARCHAR, answer_no BIGINT);

-- Answers that have all documents of a kind and parent: what they do not name is deleted, unless a later answer has it.
CREATE TABLE IF NOT EXISTS appended.sets (
  set_no BIGINT, endpoint VARCHAR, parent_id VARCHAR, fetched_at TIMESTAMPTZ, answer_no BIGINT
);

-- The ids that a set names.
CREATE TABLE IF NOT EXISTS appended.members (set_no BIGINT, id VARCHAR);

-- Items of lists as they were returned, whole, for ops.entities; item_hash: NULL where a part of it could not be stored.
CREATE TABLE IF NOT EXISTS appended.listed (list VARCHAR, entity_id VARCHAR, item_hash BIGINT, answer_no BIGINT);

-- Requests for children (endpoint) of their parents (entity_id), and their results, in their order; most columns as in
-- ops.coverage. A NULL answer_no leaves the stored one. settled: whether date and fingerprint move, not where it stays due; good and
-- bad: whether it ends the count of attempts, and whether it is one; stratum: as in ops.audits, NULL where it is no check; asked_no:
-- number of the last answer when it was asked for, NULL leaves the stored one.
CREATE TABLE IF NOT EXISTS appended.coverage (
  endpoint VARCHAR, entity_id VARCHAR, fetched_at TIMESTAMPTZ, answer_no BIGINT, fingerprint VARCHAR, counters VARCHAR,
  status BIGINT, error VARCHAR, reason VARCHAR, settled BOOLEAN, good BOOLEAN, bad BOOLEAN,
  stratum VARCHAR, asked_no BIGINT
);

-- Items that do not have the documented form; columns as in ops.rejected_records.
CREATE TABLE IF NOT EXISTS appended.rejections (
  endpoint VARCHAR, parent_id VARCHAR, id VARCHAR, path VARCHAR, reason VARCHAR, body VARCHAR, seen_at TIMESTAMPTZ
);

-- Differences between the contract and items that were stored nevertheless; columns as in ops.schema_drift.
CREATE TABLE IF NOT EXISTS appended.drift (
  endpoint VARCHAR, path VARCHAR, kind VARCHAR, example VARCHAR, occurrences BIGINT, seen_at TIMESTAMPTZ
);

-- What the live file has that was made of the rest of it, and is as it would be made now, with the SHA-256 of the text that it was
-- made with: views, those that publications copy; derived, the tables that are computed from other tables; entities, ops.entities;
-- publication, the last one.
CREATE TABLE IF NOT EXISTS appended.made (what VARCHAR, checksum VARCHAR);
