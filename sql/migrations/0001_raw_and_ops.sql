-- Schema raw holds what the API said, as it said it. Schema ops holds what the worker did and still has to do.
-- Schema main holds the tables and views for analysts (0002 onwards).
-- (DuckDB has no COMMENT ON SCHEMA yet; docs/schema.md says the same.)
--
-- No PRIMARY KEY, UNIQUE, index, ENUM, sequence, default or generated column anywhere: rows are merged on their key,
-- which is named in each table's comment, loads twice as fast, and keeps the SQL portable.

CREATE SCHEMA IF NOT EXISTS raw;
CREATE SCHEMA IF NOT EXISTS ops;

-- A date-time as the API writes it: ISO 8601 (without an offset it is read as UTC), or a number of seconds or
-- milliseconds since 1970 where the document says only "timestamp". What is neither is NULL: one odd value must not
-- cost a batch. The last branch reads what DuckDB's cast does not: no seconds before a Z, and a small z.
CREATE OR REPLACE MACRO raw.moment(said) AS coalesce(
  TRY_CAST(said AS TIMESTAMPTZ),
  to_timestamp(
    CASE
      WHEN abs(TRY_CAST(said AS DOUBLE)) < 1e11 THEN TRY_CAST(said AS DOUBLE)
      WHEN abs(TRY_CAST(said AS DOUBLE)) < 1e14 THEN TRY_CAST(said AS DOUBLE) / 1000
    END
  ),
  TRY_CAST(regexp_replace(upper(said), '^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d)(Z|[-+].*)$', '\1:00\2') AS TIMESTAMPTZ)
);
COMMENT ON MACRO raw.moment IS 'A date-time as the API writes it (ISO 8601, or seconds or milliseconds since 1970) as TIMESTAMPTZ; NULL when it is neither.';

-- Two documents about the same thing as one: the younger wins where it has the field at all; a null it says wins too.
-- With equal ages the second does.
CREATE OR REPLACE MACRO raw.younger_wins(one, one_at, other, other_at) AS CASE
  WHEN one IS NULL THEN other
  WHEN other IS NULL THEN one
  WHEN one_at > other_at THEN json_merge_patch(other, one)
  ELSE json_merge_patch(one, other)
END;
COMMENT ON MACRO raw.younger_wins IS 'Two documents about the same thing as one: the younger wins, field by field, where it has the field at all.';

-- One field of two such documents, taken whole: objects that must not be mixed.
CREATE OR REPLACE MACRO raw.younger_field(one, one_at, other, other_at, path) AS CASE
  WHEN NOT coalesce(json_exists(one, path), false) THEN json_extract(other, path)
  WHEN NOT coalesce(json_exists(other, path), false) THEN json_extract(one, path)
  WHEN one_at > other_at THEN json_extract(one, path)
  ELSE json_extract(other, path)
END;
COMMENT ON MACRO raw.younger_field IS 'One field of two documents about the same thing, taken whole from the younger that has it.';

CREATE TABLE raw.documents (
  endpoint VARCHAR NOT NULL,
  id VARCHAR NOT NULL,
  parent_id VARCHAR,
  body JSON NOT NULL,
  body_hash VARCHAR NOT NULL,
  fetched_at TIMESTAMPTZ NOT NULL,
  run_id VARCHAR NOT NULL
);
COMMENT ON TABLE raw.documents IS 'Everything the API said, one JSON document per thing, fields that nobody documented included. Every table of schema main can be derived from it again (signalhouse rebuild). Key: endpoint, parent_id, id.';
COMMENT ON COLUMN raw.documents.endpoint IS 'Kind of document, named after the endpoint that brought it (topics: an item of the list; topic: one topic by id; messages: a message of a conversation, ...).';
COMMENT ON COLUMN raw.documents.id IS 'The API''s id of the thing (a slug for stories and automation templates, platform:platformId for identities, the source for source stats).';
COMMENT ON COLUMN raw.documents.parent_id IS 'Id of the thing it belongs to (the topic of a person in a topic, the conversation of a message). NULL where it stands on its own.';
COMMENT ON COLUMN raw.documents.body IS 'What the API said, as JSON; parts that are documents of their own (a message''s author, a topic''s people) are taken out.';
COMMENT ON COLUMN raw.documents.body_hash IS 'Hash of the body; an answer with the same hash changes nothing.';
COMMENT ON COLUMN raw.documents.fetched_at IS 'When the answer that last changed this document arrived (UTC). Where two documents say the same field, the later one wins.';
COMMENT ON COLUMN raw.documents.run_id IS 'Run that last changed this document (ops.runs).';

CREATE TABLE IF NOT EXISTS ops.migrations (
  version INTEGER,
  name VARCHAR,
  checksum VARCHAR,
  applied_at TIMESTAMPTZ
);
COMMENT ON TABLE ops.migrations IS 'Which changes of the tables'' form this warehouse has had. Key: version.';
COMMENT ON COLUMN ops.migrations.version IS 'Number at the start of the migration''s file name.';
COMMENT ON COLUMN ops.migrations.name IS 'File name of the migration.';
COMMENT ON COLUMN ops.migrations.checksum IS 'Checksum of the file when it was applied; a file that changed afterwards is refused.';
COMMENT ON COLUMN ops.migrations.applied_at IS 'When it was applied (UTC).';

CREATE TABLE ops.runs (
  run_id VARCHAR,
  command VARCHAR,
  started_at TIMESTAMPTZ,
  ended_at TIMESTAMPTZ,
  outcome VARCHAR,
  exit_code INTEGER,
  requests BIGINT,
  rate_limited BIGINT,
  rows_new BIGINT,
  rows_changed BIGINT,
  rows_removed BIGINT,
  rejected BIGINT,
  left_due BIGINT,
  summary JSON,
  error VARCHAR,
  pid BIGINT,
  program_version VARCHAR
);
COMMENT ON TABLE ops.runs IS 'One row per run of a command that writes to the warehouse. Key: run_id.';
COMMENT ON COLUMN ops.runs.run_id IS 'Id of the run; ids sort by the time at which the runs started.';
COMMENT ON COLUMN ops.runs.command IS 'The command that ran, e.g. sync, rebuild, push.';
COMMENT ON COLUMN ops.runs.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN ops.runs.ended_at IS 'When the run ended (UTC). NULL while it runs, or when it was killed.';
COMMENT ON COLUMN ops.runs.outcome IS 'running, done, stopped (at its budget or by a signal, all committed), incomplete (done, with records set aside), failed, or interrupted (killed, found by a later run).';
COMMENT ON COLUMN ops.runs.exit_code IS 'Exit code of the command. NULL while it runs, or when it was killed.';
COMMENT ON COLUMN ops.runs.requests IS 'Requests that were sent to the API, every attempt counted.';
COMMENT ON COLUMN ops.runs.rate_limited IS 'Answers 429 (rate limit exceeded) among them.';
COMMENT ON COLUMN ops.runs.rows_new IS 'Rows that the run added to the tables of schema main.';
COMMENT ON COLUMN ops.runs.rows_changed IS 'Rows that the run changed in the tables of schema main.';
COMMENT ON COLUMN ops.runs.rows_removed IS 'Rows that the run removed from the tables of schema main.';
COMMENT ON COLUMN ops.runs.rejected IS 'Records that were newly set aside because they do not have the documented form (ops.rejected_records).';
COMMENT ON COLUMN ops.runs.left_due IS 'Fetches that were still due when the run ended.';
COMMENT ON COLUMN ops.runs.summary IS 'The run''s summary, as --json prints it.';
COMMENT ON COLUMN ops.runs.error IS 'What made the run fail. NULL when it did not.';
COMMENT ON COLUMN ops.runs.pid IS 'Process id of the run, on the machine it ran on.';
COMMENT ON COLUMN ops.runs.program_version IS 'Version of the program that ran.';

CREATE TABLE ops.coverage (
  endpoint VARCHAR,
  entity_id VARCHAR,
  fetched_at TIMESTAMPTZ,
  fingerprint VARCHAR,
  status INTEGER,
  reason VARCHAR,
  error VARCHAR,
  attempts BIGINT,
  run_id VARCHAR
);
COMMENT ON TABLE ops.coverage IS 'What was asked about each thing, and when: the memory from which the worker knows what is due. Key: endpoint, entity_id.';
COMMENT ON COLUMN ops.coverage.endpoint IS 'Endpoint that was asked.';
COMMENT ON COLUMN ops.coverage.entity_id IS 'Id of the topic, person, company or other thing that it was asked about.';
COMMENT ON COLUMN ops.coverage.fetched_at IS 'When it was last asked (UTC).';
COMMENT ON COLUMN ops.coverage.fingerprint IS 'The fields of the parent that betray a change of this child, as they were then. NULL where there are none.';
COMMENT ON COLUMN ops.coverage.status IS 'HTTP status of the last answer. NULL when no answer came.';
COMMENT ON COLUMN ops.coverage.reason IS 'The error body''s data.reason, e.g. archived_in_v1_to_v2_migration. NULL where none was given.';
COMMENT ON COLUMN ops.coverage.error IS 'What went wrong the last time. NULL when it went well.';
COMMENT ON COLUMN ops.coverage.attempts IS 'Tries since the last good answer; 0 when the last one was good.';
COMMENT ON COLUMN ops.coverage.run_id IS 'Run that last asked (ops.runs).';

CREATE TABLE ops.scans (
  run_id VARCHAR,
  endpoint VARCHAR,
  started_at TIMESTAMPTZ,
  ended_at TIMESTAMPTZ,
  verified BOOLEAN,
  attempts BIGINT,
  pages BIGINT,
  items BIGINT,
  distinct_ids BIGINT,
  total_count BIGINT,
  page_base INTEGER,
  page_size BIGINT,
  form VARCHAR,
  note VARCHAR,
  missing BIGINT,
  tombstoned BIGINT
);
COMMENT ON TABLE ops.scans IS 'Each reading of a whole list, and how far it can be trusted: the totals to compare the tables with. Rows are only added.';
COMMENT ON COLUMN ops.scans.run_id IS 'Run that read the list (ops.runs).';
COMMENT ON COLUMN ops.scans.endpoint IS 'Endpoint of the list, e.g. topics, people, companies.';
COMMENT ON COLUMN ops.scans.started_at IS 'When the reading started (UTC).';
COMMENT ON COLUMN ops.scans.ended_at IS 'When the reading ended (UTC).';
COMMENT ON COLUMN ops.scans.verified IS 'True when the distinct ids agree with the total that the API reports (or, where it reports none, with a second reading). Only a verified scan may say that something is gone.';
COMMENT ON COLUMN ops.scans.attempts IS 'How often the list was read until it verified or was given up.';
COMMENT ON COLUMN ops.scans.pages IS 'Pages of the last reading.';
COMMENT ON COLUMN ops.scans.items IS 'Items of the last reading, repeated ones counted each time.';
COMMENT ON COLUMN ops.scans.distinct_ids IS 'Different ids of the last reading.';
COMMENT ON COLUMN ops.scans.total_count IS 'totalCount as the API reported it. NULL where the list has none.';
COMMENT ON COLUMN ops.scans.page_base IS 'Number of the first page as the API counts: 0 or 1. NULL where the list is not paged.';
COMMENT ON COLUMN ops.scans.page_size IS 'Items per page that the API granted. NULL where the list is not paged.';
COMMENT ON COLUMN ops.scans.form IS 'Form of the answer: paged, or one of the unpaged forms.';
COMMENT ON COLUMN ops.scans.note IS 'Why the scan did not verify, or a fuse that kept it from deleting. NULL when all is well.';
COMMENT ON COLUMN ops.scans.missing IS 'Things that the warehouse knows and the scan did not show.';
COMMENT ON COLUMN ops.scans.tombstoned IS 'How many of those were then marked as deleted.';

CREATE TABLE ops.rejected_records (
  endpoint VARCHAR,
  parent_id VARCHAR,
  id VARCHAR,
  path VARCHAR,
  reason VARCHAR,
  body JSON,
  body_hash VARCHAR,
  first_seen_at TIMESTAMPTZ,
  last_seen_at TIMESTAMPTZ,
  seen_count BIGINT,
  resolved_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE ops.rejected_records IS 'Records that were set aside because they do not have the documented form; the rest of their page was loaded. Key: endpoint, parent_id, id, path, reason, body_hash.';
COMMENT ON COLUMN ops.rejected_records.endpoint IS 'Kind of document (raw.documents.endpoint).';
COMMENT ON COLUMN ops.rejected_records.parent_id IS 'Id of the thing it belongs to. NULL where it stands on its own.';
COMMENT ON COLUMN ops.rejected_records.id IS 'Id of the record. NULL where it has none.';
COMMENT ON COLUMN ops.rejected_records.path IS 'Where in the record the form is broken.';
COMMENT ON COLUMN ops.rejected_records.reason IS 'What is wrong there.';
COMMENT ON COLUMN ops.rejected_records.body IS 'The record as the API sent it.';
COMMENT ON COLUMN ops.rejected_records.body_hash IS 'Hash of the body.';
COMMENT ON COLUMN ops.rejected_records.first_seen_at IS 'When it was first seen (UTC).';
COMMENT ON COLUMN ops.rejected_records.last_seen_at IS 'When it was last seen (UTC).';
COMMENT ON COLUMN ops.rejected_records.seen_count IS 'How often it was seen.';
COMMENT ON COLUMN ops.rejected_records.resolved_at IS 'When the record first loaded well again (UTC). NULL while it is still rejected.';
COMMENT ON COLUMN ops.rejected_records.run_id IS 'Run that last saw it (ops.runs).';

CREATE TABLE ops.schema_drift (
  endpoint VARCHAR,
  path VARCHAR,
  kind VARCHAR,
  example VARCHAR,
  occurrences BIGINT,
  first_seen_at TIMESTAMPTZ,
  last_seen_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE ops.schema_drift IS 'Where the API''s answers differ from its document: fields that nobody documented (they are kept in raw.documents), missing ones, other types, text that had to be made storable. Key: endpoint, path, kind.';
COMMENT ON COLUMN ops.schema_drift.endpoint IS 'Kind of document (raw.documents.endpoint).';
COMMENT ON COLUMN ops.schema_drift.path IS 'The field, as a path inside the document.';
COMMENT ON COLUMN ops.schema_drift.kind IS 'unknown_field, missing_field, changed_type, or repaired_text (lone surrogates or NULs were replaced).';
COMMENT ON COLUMN ops.schema_drift.example IS 'An example of the value, shortened. NULL where there is none.';
COMMENT ON COLUMN ops.schema_drift.occurrences IS 'How often it was seen.';
COMMENT ON COLUMN ops.schema_drift.first_seen_at IS 'When it was first seen (UTC).';
COMMENT ON COLUMN ops.schema_drift.last_seen_at IS 'When it was last seen (UTC).';
COMMENT ON COLUMN ops.schema_drift.run_id IS 'Run that last saw it (ops.runs).';

CREATE TABLE ops.requests (
  run_id VARCHAR,
  "at" TIMESTAMPTZ,
  endpoint VARCHAR,
  method VARCHAR,
  path VARCHAR,
  status INTEGER,
  ms DOUBLE,
  bytes BIGINT,
  attempt INTEGER,
  error VARCHAR,
  request_id VARCHAR
);
COMMENT ON TABLE ops.requests IS 'Each attempt of a request to the API: where the budget of requests went. Rows are only added.';
COMMENT ON COLUMN ops.requests.run_id IS 'Run that sent it (ops.runs).';
COMMENT ON COLUMN ops.requests."at" IS 'When it was sent (UTC).';
COMMENT ON COLUMN ops.requests.endpoint IS 'Endpoint that was asked.';
COMMENT ON COLUMN ops.requests.method IS 'HTTP method.';
COMMENT ON COLUMN ops.requests.path IS 'Path and query, relative to the base address.';
COMMENT ON COLUMN ops.requests.status IS 'HTTP status of the answer. NULL when no answer came.';
COMMENT ON COLUMN ops.requests.ms IS 'Milliseconds from sending to the end of the answer, or to giving up.';
COMMENT ON COLUMN ops.requests.bytes IS 'Size of the answer''s body in bytes. NULL when no answer came.';
COMMENT ON COLUMN ops.requests.attempt IS 'Which try of the same request this was, counting from 1.';
COMMENT ON COLUMN ops.requests.error IS 'What went wrong. NULL when it went well.';
COMMENT ON COLUMN ops.requests.request_id IS 'Id of the request as the service named it in a header. NULL where it did not.';
