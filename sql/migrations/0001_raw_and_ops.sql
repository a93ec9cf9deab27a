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
-- cost a batch. The last branch reads what DuckDB's cast does not: no seconds before a Z, and a small z. A time that no
-- calendar and no program shows is none: 'infinity', the year 275760, 44 BC. (Computed once, although it stands here twice;
-- a subquery takes twice the time.)
CREATE OR REPLACE MACRO raw.moment(said) AS CASE
  WHEN coalesce(
    TRY_CAST(said AS TIMESTAMPTZ),
    to_timestamp(
      CASE
        WHEN abs(TRY_CAST(said AS DOUBLE)) < 1e11 THEN TRY_CAST(said AS DOUBLE)
        WHEN abs(TRY_CAST(said AS DOUBLE)) < 1e14 THEN TRY_CAST(said AS DOUBLE) / 1000
      END
    ),
    TRY_CAST(regexp_replace(upper(said), '^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d)(Z|[-+].*)$', '\1:00\2') AS TIMESTAMPTZ)
  )
    BETWEEN '0001-01-01 00:00:00+00'::TIMESTAMPTZ AND '9999-12-31 23:59:59.999999+00'::TIMESTAMPTZ
  THEN coalesce(
    TRY_CAST(said AS TIMESTAMPTZ),
    to_timestamp(
      CASE
        WHEN abs(TRY_CAST(said AS DOUBLE)) < 1e11 THEN TRY_CAST(said AS DOUBLE)
        WHEN abs(TRY_CAST(said AS DOUBLE)) < 1e14 THEN TRY_CAST(said AS DOUBLE) / 1000
      END
    ),
    TRY_CAST(regexp_replace(upper(said), '^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d)(Z|[-+].*)$', '\1:00\2') AS TIMESTAMPTZ)
  )
END;
COMMENT ON MACRO raw.moment IS 'A date-time as the API writes it (ISO 8601, or seconds or milliseconds since 1970) as TIMESTAMPTZ; NULL when it is neither, or not of the years 1 to 9999.';

-- Of two documents about the same entity, the one that the service updated later is the newer one, whichever arrived later: an
-- answer may come from a server that lags behind. Where either has no time, or both have the same, the later answer is.
CREATE OR REPLACE MACRO raw.is_younger(one, one_at, other, other_at) AS CASE
  WHEN raw.moment(one ->> '$.updatedAt') <> raw.moment(other ->> '$.updatedAt')
  THEN raw.moment(one ->> '$.updatedAt') > raw.moment(other ->> '$.updatedAt')
  ELSE one_at > other_at
END;
COMMENT ON MACRO raw.is_younger IS 'Whether the first of two documents about the same entity is the newer one: by its updatedAt, else by the number of its answer.';
CREATE OR REPLACE MACRO raw.younger_wins(one, one_at, other, other_at) AS CASE
  WHEN one IS NULL THEN other
  WHEN other IS NULL THEN one
  WHEN raw.is_younger(one, one_at, other, other_at) THEN json_merge_patch(other, one)
  ELSE json_merge_patch(one, other)
END;
COMMENT ON MACRO raw.younger_wins IS 'Two documents about the same entity combined: for each field, the newer document wins where it has the field at all.';
CREATE OR REPLACE MACRO raw.younger_field(one, one_at, other, other_at, path) AS CASE
  WHEN NOT coalesce(json_exists(one, path), false) THEN json_extract(other, path)
  WHEN NOT coalesce(json_exists(other, path), false) THEN json_extract(one, path)
  WHEN json_extract_string(one, path || '.id') = json_extract_string(other, path || '.id')
  THEN json_extract(raw.younger_wins(one, one_at, other, other_at), path)
  WHEN raw.is_younger(one, one_at, other, other_at) THEN json_extract(one, path)
  ELSE json_extract(other, path)
END;
COMMENT ON MACRO raw.younger_field IS 'One field of two documents about the same entity, taken whole from the newer document that has it; two objects with the same id are combined.';

CREATE TABLE raw.documents (
  endpoint VARCHAR NOT NULL,
  id VARCHAR NOT NULL,
  parent_id VARCHAR,
  body JSON NOT NULL,
  body_hash VARCHAR NOT NULL,
  fetched_at TIMESTAMPTZ NOT NULL,
  run_id VARCHAR NOT NULL,
  answer_no BIGINT,
  parts_hash VARCHAR
);
COMMENT ON TABLE raw.documents IS 'Everything the API returned: one JSON document per entity, with undocumented fields. Every table of schema main can be recomputed from it (signalhouse rebuild). Key: endpoint, parent_id, id.';
COMMENT ON COLUMN raw.documents.endpoint IS 'Kind of document, named after the endpoint that returned it (topics: an item of the list; topic: one topic by id; messages: a message of a conversation, ...).';
COMMENT ON COLUMN raw.documents.id IS 'The API''s id of the entity (a slug for stories and automation templates, platform:platformId for identities, the source for source stats).';
COMMENT ON COLUMN raw.documents.parent_id IS 'Id of the entity that it belongs to (the topic of a person in a topic, the conversation of a message). NULL where it has no parent.';
COMMENT ON COLUMN raw.documents.body IS 'What the API returned, as JSON; parts that are documents of their own (a message''s author, a topic''s people) are taken out.';
COMMENT ON COLUMN raw.documents.body_hash IS 'Hash of the body; an answer with the same hash changes nothing.';
COMMENT ON COLUMN raw.documents.fetched_at IS 'When the answer that last changed this document arrived, by the clock of the worker (UTC). The order of answers is answer_no: a clock may jump.';
COMMENT ON COLUMN raw.documents.run_id IS 'Run that last changed this document (ops.runs).';
COMMENT ON COLUMN raw.documents.answer_no IS 'Number of the answer that last changed this document, in the order in which answers arrived; negative for what was stored before answers were numbered. Where two documents have the same field, the one with the greater number wins.';
COMMENT ON COLUMN raw.documents.parts_hash IS 'Hash of the parts that were taken out of the document and stored as documents of their own, as they were when it was last fetched: the messages of a conversation. NULL where it has none, or where not all of them could be stored.';

CREATE TABLE IF NOT EXISTS ops.migrations (
  version INTEGER,
  name VARCHAR,
  checksum VARCHAR,
  applied_at TIMESTAMPTZ
);
COMMENT ON TABLE ops.migrations IS 'The migrations that were applied to this warehouse. Key: version.';
COMMENT ON COLUMN ops.migrations.version IS 'Number at the start of the migration''s file name.';
COMMENT ON COLUMN ops.migrations.name IS 'File name of the migration.';
COMMENT ON COLUMN ops.migrations.checksum IS 'Checksum of the file when it was applied. A warehouse whose migration differs from the file of that name is not opened.';
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
COMMENT ON COLUMN ops.runs.outcome IS 'running, done, stopped (at its budget or by a signal, everything committed), incomplete (done, but it rejected records), failed, or interrupted (killed, found by a later run).';
COMMENT ON COLUMN ops.runs.exit_code IS 'Exit code of the command. NULL while it runs, or when it was killed.';
COMMENT ON COLUMN ops.runs.requests IS 'Requests sent to the API, including repeated attempts.';
COMMENT ON COLUMN ops.runs.rate_limited IS 'Answers 429 (rate limit exceeded) among them.';
COMMENT ON COLUMN ops.runs.rows_new IS 'Rows that the run added to the tables of schema main.';
COMMENT ON COLUMN ops.runs.rows_changed IS 'Rows that the run changed in the tables of schema main.';
COMMENT ON COLUMN ops.runs.rows_removed IS 'Rows that the run removed from the tables of schema main.';
COMMENT ON COLUMN ops.runs.rejected IS 'Records that this run rejected for the first time because they do not have the documented form (ops.rejected_records).';
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
  run_id VARCHAR,
  counters VARCHAR,
  answer_no BIGINT,
  asked_no BIGINT,
  touched BIGINT
);
COMMENT ON TABLE ops.coverage IS 'When each endpoint was last asked about each entity, and with what result: the worker decides what is due from it and ops.entities. A row that has touched alone was never asked about. Key: endpoint, entity_id.';
COMMENT ON COLUMN ops.coverage.endpoint IS 'Endpoint that was asked.';
COMMENT ON COLUMN ops.coverage.entity_id IS 'Id of the topic, person, company or other entity that it was asked about.';
COMMENT ON COLUMN ops.coverage.fetched_at IS 'When it was last asked (UTC).';
COMMENT ON COLUMN ops.coverage.fingerprint IS 'The fields of the parent whose change makes this fetch due, as they were at that time. NULL where there are none.';
COMMENT ON COLUMN ops.coverage.status IS 'HTTP status of the last answer. NULL when no answer came.';
COMMENT ON COLUMN ops.coverage.reason IS 'The error body''s data.reason, e.g. archived_in_v1_to_v2_migration; or why it is requested again at growing intervals (again: incomplete, contradicted, emptied, unconfirmed, rejected or short). NULL where there is neither.';
COMMENT ON COLUMN ops.coverage.error IS 'What went wrong the last time. NULL when it went well.';
COMMENT ON COLUMN ops.coverage.attempts IS 'Failed attempts since the last good answer; 0 when the last answer was good.';
COMMENT ON COLUMN ops.coverage.run_id IS 'Run that last asked (ops.runs).';
COMMENT ON COLUMN ops.coverage.counters IS 'The change fields of the parent when this was fetched, as a JSON object: signalhouse explain shows which of them changed since. Numbers, times, true and false are as they were, other text is a short hash (#); named is how many members the answer named. Where an answer has several pages, all are as they were, and the next fetch may end early when it has found as many new messages as the counters moved by. NULL: not stored; an answer with pages is then read to the end.';
COMMENT ON COLUMN ops.coverage.answer_no IS 'Number of the answer of fetched_at, in the order in which answers arrived (as in raw.documents).';
COMMENT ON COLUMN ops.coverage.asked_no IS 'Number of the last answer that had arrived when the request of fetched_at started. What a later answer showed, it may not have.';
COMMENT ON COLUMN ops.coverage.touched IS 'Number of the last answer that showed a change of this that no field of the parent shows (a merge, a move, a push). It is due while that is greater than asked_no. NULL where there was none.';

CREATE TABLE ops.entities (
  list VARCHAR,
  entity_id VARCHAR,
  fields VARCHAR,
  is_whole BOOLEAN,
  company_id VARCHAR,
  company_no BIGINT,
  is_company_known BOOLEAN,
  deleted_at TIMESTAMPTZ,
  deleted_reason VARCHAR,
  merged_into_id VARCHAR,
  unavailable_reason VARCHAR,
  unlisted_since TIMESTAMPTZ,
  asked_at TIMESTAMPTZ
);
COMMENT ON TABLE ops.entities IS 'What is known of each item of a list, as far as it decides what is due: the worker reads it instead of documents. Key: list, entity_id.';
COMMENT ON COLUMN ops.entities.list IS 'The list, e.g. topics.';
COMMENT ON COLUMN ops.entities.entity_id IS 'Id of the topic, person, company or other entity.';
COMMENT ON COLUMN ops.entities.fields IS 'The fields of the item that decide what is due, with tabs between them: numbers, times, true and false as they are, other text as a short hash (#), lists as one with their length. Of an item that left its list, the fields of its detail. NULL where it was forgotten.';
COMMENT ON COLUMN ops.entities.is_whole IS 'Whether the item has every field of its detail, which is then not asked for.';
COMMENT ON COLUMN ops.entities.company_id IS 'Of a person: the company (people.company_id).';
COMMENT ON COLUMN ops.entities.company_no IS 'Number of the answer that first named that company as the person''s.';
COMMENT ON COLUMN ops.entities.is_company_known IS 'Of a person: whether an answer has said to which company the person belongs, or to none.';
COMMENT ON COLUMN ops.entities.deleted_at IS 'When it was found to be gone (UTC). NULL while it exists.';
COMMENT ON COLUMN ops.entities.deleted_reason IS 'Why it is gone: the API''s reason, not_found or merged.';
COMMENT ON COLUMN ops.entities.merged_into_id IS 'Id of the entity that it was merged into.';
COMMENT ON COLUMN ops.entities.unavailable_reason IS 'Why the API does not answer for it by id although it is listed.';
COMMENT ON COLUMN ops.entities.unlisted_since IS 'Since when it is answered by id and not listed (UTC). NULL while it is listed.';
COMMENT ON COLUMN ops.entities.asked_at IS 'When it was last answered so (UTC).';

CREATE TABLE ops.audits (
  run_id VARCHAR,
  "at" TIMESTAMPTZ,
  resource VARCHAR,
  entity_id VARCHAR,
  stratum VARCHAR,
  age_days DOUBLE,
  differs BOOLEAN,
  fields VARCHAR[]
);
COMMENT ON TABLE ops.audits IS 'Random checks of details that were not due, against what was stored. They show what changes without a sign, and how much is out of date (freshness_estimates). An answer that failed or is in doubt is not in it. Rows are only added.';
COMMENT ON COLUMN ops.audits.run_id IS 'Run that checked it (ops.runs).';
COMMENT ON COLUMN ops.audits."at" IS 'When it was checked (UTC).';
COMMENT ON COLUMN ops.audits.resource IS 'The detail that was checked, e.g. topic_groups (ops.coverage.endpoint).';
COMMENT ON COLUMN ops.audits.entity_id IS 'Id of the topic, person, company or other entity that it is of.';
COMMENT ON COLUMN ops.audits.stratum IS 'How long ago it had been fetched, and whether its entity was active in the last 14 days. The check was chosen at random among the details of its resource and stratum.';
COMMENT ON COLUMN ops.audits.age_days IS 'How long ago it had been fetched, in days.';
COMMENT ON COLUMN ops.audits.differs IS 'Whether anything of the answer was not stored, or stored otherwise. What changes by itself does not count: the query of an address, weekly activity.';
COMMENT ON COLUMN ops.audits.fields IS 'The fields that differ; added and removed: documents that were not stored, or are gone. Empty when nothing differs.';

CREATE TABLE ops.freshness (
  resource VARCHAR,
  checks BIGINT,
  stale BIGINT,
  share DOUBLE,
  low DOUBLE,
  high DOUBLE,
  days DOUBLE
);
COMMENT ON TABLE ops.freshness IS 'What freshness_estimates shows, as the last sync computed it from ops.audits. Key: resource.';
COMMENT ON COLUMN ops.freshness.resource IS 'A detail, e.g. topic_groups; all for all of them together.';
COMMENT ON COLUMN ops.freshness.checks IS 'Checks of the last 30 days.';
COMMENT ON COLUMN ops.freshness.stale IS 'How many of them found a difference.';
COMMENT ON COLUMN ops.freshness.share IS 'The estimated share of its rows that is out of date, 0 to 1; each stratum counts as much as it has rows now. NULL without checks.';
COMMENT ON COLUMN ops.freshness.low IS 'The lower end of the 95 % interval of share.';
COMMENT ON COLUMN ops.freshness.high IS 'The upper end of the 95 % interval of share.';
COMMENT ON COLUMN ops.freshness.days IS 'Days since the first of these checks.';

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
COMMENT ON TABLE ops.scans IS 'Each reading of a whole list, and whether it can be trusted: the totals to compare the tables with. Rows are only added.';
COMMENT ON COLUMN ops.scans.run_id IS 'Run that read the list (ops.runs).';
COMMENT ON COLUMN ops.scans.endpoint IS 'Endpoint of the list, e.g. topics, people, companies.';
COMMENT ON COLUMN ops.scans.started_at IS 'When the reading started (UTC).';
COMMENT ON COLUMN ops.scans.ended_at IS 'When the reading ended (UTC).';
COMMENT ON COLUMN ops.scans.verified IS 'True when the distinct ids agree with the total that the API reports (or, where it reports none, with a second reading). Rows are marked as deleted only after a verified scan.';
COMMENT ON COLUMN ops.scans.attempts IS 'How often the list was read until it was verified or given up.';
COMMENT ON COLUMN ops.scans.pages IS 'Pages of the last reading.';
COMMENT ON COLUMN ops.scans.items IS 'Items of the last reading, repeated ones counted each time.';
COMMENT ON COLUMN ops.scans.distinct_ids IS 'Different ids of the last reading.';
COMMENT ON COLUMN ops.scans.total_count IS 'totalCount as the API reported it. NULL where the list has none.';
COMMENT ON COLUMN ops.scans.page_base IS 'Number of the first page as the API counts: 0 or 1. NULL where the list is not paged.';
COMMENT ON COLUMN ops.scans.page_size IS 'Items per page that the API granted. NULL where the list is not paged.';
COMMENT ON COLUMN ops.scans.form IS 'Form of the answer: paged, or one of the unpaged forms.';
COMMENT ON COLUMN ops.scans.note IS 'Why the scan was not verified, or which deletion limit kept it from deleting. NULL when all is well.';
COMMENT ON COLUMN ops.scans.missing IS 'Entities that the warehouse has and the scan did not return.';
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
COMMENT ON TABLE ops.rejected_records IS 'Records that were rejected because they do not have the documented form; the rest of their page was loaded. Each as it was last seen. Key: endpoint, parent_id, id, path.';
COMMENT ON COLUMN ops.rejected_records.endpoint IS 'Kind of document (raw.documents.endpoint).';
COMMENT ON COLUMN ops.rejected_records.parent_id IS 'Id of the entity that it belongs to. NULL where it has no parent.';
COMMENT ON COLUMN ops.rejected_records.id IS 'Id of the record. NULL where it has none that can be stored; such records are known by where they are, and the last one of them stands for all.';
COMMENT ON COLUMN ops.rejected_records.path IS 'The field that does not have the documented form.';
COMMENT ON COLUMN ops.rejected_records.reason IS 'What is wrong with it.';
COMMENT ON COLUMN ops.rejected_records.body IS 'The record as the API last sent it.';
COMMENT ON COLUMN ops.rejected_records.body_hash IS 'Hash of the body.';
COMMENT ON COLUMN ops.rejected_records.first_seen_at IS 'When it was first seen (UTC).';
COMMENT ON COLUMN ops.rejected_records.last_seen_at IS 'When it was last seen (UTC).';
COMMENT ON COLUMN ops.rejected_records.seen_count IS 'How often it was seen.';
COMMENT ON COLUMN ops.rejected_records.resolved_at IS 'When the record loaded well again, or was no longer there (UTC). NULL while it is still rejected.';
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
COMMENT ON TABLE ops.schema_drift IS 'Where the API''s answers differ from its document: fields that nobody documented (they are kept in raw.documents), missing ones, other types, text that had to be made storable. At most 200 of each endpoint and kind. Key: endpoint, path, kind.';
COMMENT ON COLUMN ops.schema_drift.endpoint IS 'Kind of document (raw.documents.endpoint).';
COMMENT ON COLUMN ops.schema_drift.path IS 'The field, as a path inside the document; shortened where it is longer than 200 characters.';
COMMENT ON COLUMN ops.schema_drift.kind IS 'unknown_field, missing_field, changed_type, or repaired_text (lone surrogates, NULs or bytes that are not UTF-8 were replaced).';
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
COMMENT ON TABLE ops.requests IS 'Each attempt of a request to the API: how the budget of requests was spent. Rows are only added.';
COMMENT ON COLUMN ops.requests.run_id IS 'Run that sent it (ops.runs).';
COMMENT ON COLUMN ops.requests."at" IS 'When it was sent (UTC).';
COMMENT ON COLUMN ops.requests.endpoint IS 'Endpoint that was asked.';
COMMENT ON COLUMN ops.requests.method IS 'HTTP method.';
COMMENT ON COLUMN ops.requests.path IS 'Path and query, relative to the base URL.';
COMMENT ON COLUMN ops.requests.status IS 'HTTP status of the answer. NULL when no answer came.';
COMMENT ON COLUMN ops.requests.ms IS 'Milliseconds from sending to the end of the answer, or to giving up.';
COMMENT ON COLUMN ops.requests.bytes IS 'Size of the answer''s body in bytes. NULL when no answer came.';
COMMENT ON COLUMN ops.requests.attempt IS 'Number of this attempt at the same request, counting from 1.';
COMMENT ON COLUMN ops.requests.error IS 'What went wrong. NULL when it went well.';
COMMENT ON COLUMN ops.requests.request_id IS 'Id of the request that the service returned in a header. NULL where it returned none.';
