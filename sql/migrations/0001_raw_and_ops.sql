-- Schema raw holds what the API said, as it said it. Schema ops holds what the worker did and still has to do.
-- Schema main holds the tables and views for analysts: here are only those that cannot be made again from documents. The others are
-- declared in src/contract.
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

-- When the service says that it last changed what a document is about; NULL where that is later than the answer itself (5 seconds for
-- the precision of `Date`): such a time proves nothing about order.
CREATE OR REPLACE MACRO raw.updated_at(body, fetched_at) AS CASE
  WHEN raw.moment(body ->> '$.updatedAt') <= fetched_at + INTERVAL 5 SECOND THEN raw.moment(body ->> '$.updatedAt')
END;
COMMENT ON MACRO raw.updated_at IS 'When the service last updated what a document is about, by its updatedAt; NULL where it has none, or one later than its own answer.';

-- Of two documents about the same entity, the one that the service updated later is the newer one, whichever arrived later: an
-- answer may come from a server that lags behind. Where either has no time, or both have the same, the later answer is.
CREATE OR REPLACE MACRO raw.is_younger(one, one_no, one_at, other, other_no, other_at) AS CASE
  WHEN raw.updated_at(one, one_at) <> raw.updated_at(other, other_at)
  THEN raw.updated_at(one, one_at) > raw.updated_at(other, other_at)
  ELSE one_no > other_no
END;
COMMENT ON MACRO raw.is_younger IS 'Whether the first of two documents about the same entity is the newer one: by its updatedAt, else by the number of its answer.';
CREATE OR REPLACE MACRO raw.younger_wins(one, one_no, one_at, other, other_no, other_at) AS CASE
  WHEN one IS NULL THEN other
  WHEN other IS NULL THEN one
  WHEN raw.is_younger(one, one_no, one_at, other, other_no, other_at) THEN json_merge_patch(other, one)
  ELSE json_merge_patch(one, other)
END;
COMMENT ON MACRO raw.younger_wins IS 'Two documents about the same entity combined: for each field, the newer document wins where it has the field at all.';
CREATE OR REPLACE MACRO raw.younger_field(one, one_no, one_at, other, other_no, other_at, path) AS CASE
  WHEN NOT coalesce(json_exists(one, path), false) THEN json_extract(other, path)
  WHEN NOT coalesce(json_exists(other, path), false) THEN json_extract(one, path)
  WHEN json_extract_string(one, path || '.id') = json_extract_string(other, path || '.id')
  THEN json_extract(raw.younger_wins(one, one_no, one_at, other, other_no, other_at), path)
  WHEN raw.is_younger(one, one_no, one_at, other, other_no, other_at) THEN json_extract(one, path)
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
COMMENT ON TABLE ops.migrations IS 'With what this warehouse was made: its migrations, and the declarations of the tables that are projections of documents. Key: version, name.';
COMMENT ON COLUMN ops.migrations.version IS 'Number at the start of the migration''s file name. NULL for a table.';
COMMENT ON COLUMN ops.migrations.name IS 'File name of the migration, or name of the table.';
COMMENT ON COLUMN ops.migrations.checksum IS 'Checksum of the file when it was applied: a warehouse whose migration differs from the file of that name is not opened. Checksum of the table''s declaration: a table whose declaration differs is made again; empty while it is.';
COMMENT ON COLUMN ops.migrations.applied_at IS 'When it was applied, or the table was made (UTC).';

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
  first_pull_left BIGINT,
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
COMMENT ON COLUMN ops.runs.rows_new IS 'Rows that the run added to the tables of schema main; of a sync also those that plans had added since the one before.';
COMMENT ON COLUMN ops.runs.rows_changed IS 'Rows that the run changed in the tables of schema main.';
COMMENT ON COLUMN ops.runs.rows_removed IS 'Rows that the run removed from the tables of schema main.';
COMMENT ON COLUMN ops.runs.rejected IS 'Records that this run rejected for the first time because they do not have the documented form (ops.rejected_records).';
COMMENT ON COLUMN ops.runs.left_due IS 'Fetches that were still due when the run ended.';
COMMENT ON COLUMN ops.runs.first_pull_left IS 'Requests for what was never fetched that the sync left: 0 from the run on that first left none, whatever a later one leaves. NULL where it is not known, and for other commands.';
COMMENT ON COLUMN ops.runs.summary IS 'The run''s summary, as --json prints it.';
COMMENT ON COLUMN ops.runs.error IS 'What made the run fail. NULL when it did not.';
COMMENT ON COLUMN ops.runs.pid IS 'Process id of the run, on the machine it ran on.';
COMMENT ON COLUMN ops.runs.program_version IS 'Version of the program that ran.';

CREATE TABLE ops.removed_rows (
  table_name VARCHAR,
  "key" VARCHAR[],
  run_id VARCHAR,
  "at" TIMESTAMPTZ
);
COMMENT ON TABLE ops.removed_rows IS 'Which rows went from the tables of schema main, for those who copy what changed (run_id of each table): docs/other-tools.md says how. Rows are only added, and go after retention.recordsDays.';
COMMENT ON COLUMN ops.removed_rows.table_name IS 'The table that had the row.';
COMMENT ON COLUMN ops.removed_rows."key" IS 'The key of the row as text, in the order of the table''s comment, times in UTC; without accounts (platform_id): all rows that begin so went, and those of them that stay are changed in the same run.';
COMMENT ON COLUMN ops.removed_rows.run_id IS 'Run that removed it (ops.runs).';
COMMENT ON COLUMN ops.removed_rows."at" IS 'When it went (UTC).';

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
  asked_at TIMESTAMPTZ,
  item_hash BIGINT
);
COMMENT ON TABLE ops.entities IS 'What is known of each item of a list, as far as it decides what is due: the worker reads it instead of documents. Key: list, entity_id.';
COMMENT ON COLUMN ops.entities.list IS 'The list, e.g. topics; whoami and story_buckets, which every run reads as well, for their hash alone.';
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
COMMENT ON COLUMN ops.entities.item_hash IS 'Hash of the item as its list returned it last, whole: one that has it again is not stored again. NULL where another answer about the entity is newer.';

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

-- The queue of changes that are pushed to the API, which is their audit as well. Beside it, changes.journal in the data
-- directory holds what is younger than the last snapshot.

CREATE TABLE ops.changes (
  id VARCHAR,
  revision BIGINT,
  entity_type VARCHAR,
  topic_id VARCHAR,
  company_id VARCHAR,
  person_id VARCHAR,
  status VARCHAR,
  idempotency_key VARCHAR,
  wanted JSON,
  base JSON,
  base_from VARCHAR,
  base_at TIMESTAMPTZ,
  overwrite BOOLEAN,
  requested_by VARCHAR,
  requested_reason VARCHAR,
  queued_at TIMESTAMPTZ,
  source VARCHAR,
  source_hash VARCHAR,
  source_row BIGINT,
  import_id VARCHAR,
  body JSON,
  first_sent_at TIMESTAMPTZ,
  sent_at TIMESTAMPTZ,
  attempts BIGINT,
  remote_before JSON,
  remote_after JSON,
  error_code VARCHAR,
  error VARCHAR,
  settled_at TIMESTAMPTZ,
  superseded_by VARCHAR,
  undoes VARCHAR[]
);
COMMENT ON TABLE ops.changes IS 'One row per requested change of one topic or company, or merge of a person into another: the queue of what is pushed to the API, and the record of the results. Key: id.';
COMMENT ON COLUMN ops.changes.id IS 'Id of the change; ids sort by the time at which they were queued.';
COMMENT ON COLUMN ops.changes.revision IS 'Increases with each change of the status.';
COMMENT ON COLUMN ops.changes.entity_type IS 'topic, company, or person for a merge of people.';
COMMENT ON COLUMN ops.changes.topic_id IS 'The topic (topics.id). NULL for others.';
COMMENT ON COLUMN ops.changes.company_id IS 'The company (companies.id). NULL for others.';
COMMENT ON COLUMN ops.changes.person_id IS 'The person who is merged into another (people.id); wanted says into whom. NULL for others.';
COMMENT ON COLUMN ops.changes.status IS 'queued, sending (its request may be on its way), applied, unchanged (it was already up to date), conflict (somebody else changed it in the meantime), failed (the API refused it), superseded (by a later change) or cancelled.';
COMMENT ON COLUMN ops.changes.idempotency_key IS 'Idempotency-Key under which it is sent; changes of one topic or company that go out together share one.';
COMMENT ON COLUMN ops.changes.wanted IS 'The values to set, by the names of the columns.';
COMMENT ON COLUMN ops.changes.base IS 'The values of those columns that the person saw.';
COMMENT ON COLUMN ops.changes.base_from IS 'Where base comes from: file (its base columns) or warehouse (the values at the time of the import).';
COMMENT ON COLUMN ops.changes.base_at IS 'The time at which base was valid (UTC). NULL when it is unknown.';
COMMENT ON COLUMN ops.changes.overwrite IS 'True when a person chose to overwrite what somebody else had changed.';
COMMENT ON COLUMN ops.changes.requested_by IS 'The person who requested it: --by, the folder in the drop folder, who saved the file last, the user at the terminal, or command line where nobody was named there. NULL when nobody was named.';
COMMENT ON COLUMN ops.changes.requested_reason IS 'Why, in that person''s words: the column reason of the sheet, or --reason. NULL when none was given.';
COMMENT ON COLUMN ops.changes.queued_at IS 'When it was queued (UTC).';
COMMENT ON COLUMN ops.changes.source IS 'Where it came from: the name of the file, standard input, SQL, or HTTP.';
COMMENT ON COLUMN ops.changes.source_hash IS 'Hash of the file. NULL when it did not come from a file.';
COMMENT ON COLUMN ops.changes.source_row IS 'Its row in the file, as a spreadsheet program numbers it.';
COMMENT ON COLUMN ops.changes.import_id IS 'The import that queued it.';
COMMENT ON COLUMN ops.changes.body IS 'Body of the request as it is sent. NULL before it is sent.';
COMMENT ON COLUMN ops.changes.first_sent_at IS 'When it was first sent under its key (UTC): the API remembers a key for 24 hours.';
COMMENT ON COLUMN ops.changes.sent_at IS 'When it was last sent (UTC).';
COMMENT ON COLUMN ops.changes.attempts IS 'Number of requests that were made for it.';
COMMENT ON COLUMN ops.changes.remote_before IS 'What the API had in those columns right before it was sent, with updated_at where it has one, or when the conflict was found. signalhouse changes undo puts this back.';
COMMENT ON COLUMN ops.changes.remote_after IS 'What the API had in those columns afterwards, according to its answer, with the updated_at that the answer says, if any.';
COMMENT ON COLUMN ops.changes.error_code IS 'The API''s code or reason (http_ and the status where it gave none), or ours: conflict (somebody else changed it), contested (somebody else wants another value), not_found, refused (the key), refused_item (the API refused it in an answer with success), unknown_connections (setting one might delete others that the document does not name), merged (the person was merged into somebody else), not_seen (not made, although it was answered with success or may have been applied), not_shown (accepted, and the API shows no such field), other_form (applied; the API stores the text in another form), no_answer (it may have been applied), not_read (what the API has could not be read), older_answer (the API returned an older state than before), not_sent (its endpoint gave no usable answer). NULL when all went well.';
COMMENT ON COLUMN ops.changes.error IS 'What went wrong, as a sentence. NULL when all went well.';
COMMENT ON COLUMN ops.changes.settled_at IS 'When it was settled (UTC). NULL while it is open.';
COMMENT ON COLUMN ops.changes.superseded_by IS 'The change that replaced it.';
COMMENT ON COLUMN ops.changes.undoes IS 'The changes (ops.changes.id) that this one puts back. NULL for a change that undoes none.';

CREATE TABLE ops.change_attempts (
  change_id VARCHAR,
  "at" TIMESTAMPTZ,
  attempt BIGINT,
  idempotency_key VARCHAR,
  method VARCHAR,
  path VARCHAR,
  status INTEGER,
  error_code VARCHAR,
  request_id VARCHAR,
  ms DOUBLE,
  run_id VARCHAR
);
COMMENT ON TABLE ops.change_attempts IS 'Each request that was made for a change. Rows are only added. Key: change_id, at.';
COMMENT ON COLUMN ops.change_attempts.change_id IS 'The change (ops.changes.id).';
COMMENT ON COLUMN ops.change_attempts."at" IS 'When it was sent (UTC).';
COMMENT ON COLUMN ops.change_attempts.attempt IS 'Number of this attempt at the same request, counting from 1 in each run.';
COMMENT ON COLUMN ops.change_attempts.idempotency_key IS 'Idempotency-Key that it was sent with.';
COMMENT ON COLUMN ops.change_attempts.method IS 'HTTP method.';
COMMENT ON COLUMN ops.change_attempts.path IS 'Path, relative to the base URL.';
COMMENT ON COLUMN ops.change_attempts.status IS 'HTTP status of the answer. NULL when none came.';
COMMENT ON COLUMN ops.change_attempts.error_code IS 'Kind of failure (limited, server_error, reset, ...). NULL when it succeeded.';
COMMENT ON COLUMN ops.change_attempts.request_id IS 'Id of the request that the service returned in a header. NULL where it returned none.';
COMMENT ON COLUMN ops.change_attempts.ms IS 'Milliseconds from sending to the end of the answer, or to giving up.';
COMMENT ON COLUMN ops.change_attempts.run_id IS 'Run that sent it (ops.runs).';

-- What was removed on a person's request, kept so that it can be recognized and not read; and the record of who forgot
-- and exported what.

CREATE TABLE ops.forgotten (
  hash VARCHAR,
  part VARCHAR,
  salt VARCHAR,
  audit_id VARCHAR
);
COMMENT ON TABLE ops.forgotten IS 'Salted hashes of the ids and e-mail addresses of people, companies and conversations that were forgotten (signalhouse forget): with them, the next pull, a rebuild or a restored snapshot does not bring them back. Nothing personal is readable in it, but who has the file can find out whether an address that they know was forgotten. Key: hash.';
COMMENT ON COLUMN ops.forgotten.hash IS 'Salted SHA-256, shortened to 32 digits.';
COMMENT ON COLUMN ops.forgotten.part IS 'What it is of: person, author, company, conversation or message (an id), account or source (an id in a source system, with and without the name of the system), email (of a person) or address (e-mail of a company).';
COMMENT ON COLUMN ops.forgotten.salt IS 'The random salt of this warehouse, the same in all rows; also in forgotten.journal in the data directory.';
COMMENT ON COLUMN ops.forgotten.audit_id IS 'The request (ops.audit.id) that added it.';

CREATE TABLE ops.audit (
  id VARCHAR,
  "at" TIMESTAMPTZ,
  action VARCHAR,
  entity_type VARCHAR,
  entities BIGINT,
  requested_by VARCHAR,
  reason VARCHAR,
  details JSON,
  pending VARCHAR[],
  completed_at TIMESTAMPTZ
);
COMMENT ON TABLE ops.audit IS 'Who forgot and exported what, without the content; the changes that were pushed are in ops.changes. The view audit shows both. Rows are never removed. Key: id.';
COMMENT ON COLUMN ops.audit.id IS 'Id of the record; ids sort by time.';
COMMENT ON COLUMN ops.audit."at" IS 'When it was done (UTC).';
COMMENT ON COLUMN ops.audit.action IS 'forget (signalhouse forget), expire (retention.deletedContentDays), export (a file was written for somebody), read (somebody queried, or looked at a page with names) or login (somebody logged in to serve, or tried to).';
COMMENT ON COLUMN ops.audit.entity_type IS 'What was forgotten: person, company or conversation. NULL for other actions.';
COMMENT ON COLUMN ops.audit.entities IS 'How many of them. NULL where that is not counted.';
COMMENT ON COLUMN ops.audit.requested_by IS 'Who asked for it: the user of the operating system, or what --by says.';
COMMENT ON COLUMN ops.audit.reason IS 'Why, as --reason says. NULL when nothing was said.';
COMMENT ON COLUMN ops.audit.details IS 'What it concerned, as JSON: documents by kind and rows by other table that were changed, or the tables, the format and the file of an export. Nothing personal.';
COMMENT ON COLUMN ops.audit.pending IS 'Steps that still have to be done: compact, publish, lake. NULL when all are done.';
COMMENT ON COLUMN ops.audit.completed_at IS 'When the last step was done (UTC). NULL until then.';

-- What stood in a row, from when to when. Unlike the other tables of schema main these are no projection of
-- raw.documents, which holds only the last that was said: they are written beside the rows that are observed,
-- and cannot be made again.

CREATE TABLE topic_versions (
  topic_id VARCHAR,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  title VARCHAR,
  issue_type VARCHAR,
  priority VARCHAR,
  priority_rank INTEGER,
  lifecycle_state VARCHAR,
  graph_status VARCHAR,
  event_count BIGINT,
  message_count BIGINT,
  total_group_count BIGINT,
  staff_response_group_count BIGINT,
  archived_at TIMESTAMPTZ,
  deleted_at TIMESTAMPTZ,
  deleted_reason VARCHAR,
  merged_into_id VARCHAR,
  detail_unavailable_reason VARCHAR,
  run_id VARCHAR
);
COMMENT ON TABLE topic_versions IS 'What each topic looked like over time: one row for each period in which the columns below did not change, as the sync saw them. Two changes between two syncs are seen as one. To find the version at a date: valid_from <= date AND (valid_to > date OR valid_to IS NULL). Key: topic_id, valid_from.';
COMMENT ON COLUMN topic_versions.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN topic_versions.valid_from IS 'When the answer arrived that first showed the topic like this (UTC).';
COMMENT ON COLUMN topic_versions.valid_to IS 'When the answer arrived that showed a difference: the valid_from of the next version (UTC). NULL for the current version.';
COMMENT ON COLUMN topic_versions.title IS 'Short title.';
COMMENT ON COLUMN topic_versions.issue_type IS 'Kind of issue as the service derives it. NULL when it had none.';
COMMENT ON COLUMN topic_versions.priority IS 'very_low, low, default, high or very_high.';
COMMENT ON COLUMN topic_versions.priority_rank IS 'The priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN topic_versions.lifecycle_state IS 'open, in_progress, completed, dismissed or unknown. NULL when it was not assessed.';
COMMENT ON COLUMN topic_versions.graph_status IS 'active, superseded or archived. NULL until the topic''s detail was fetched, or when the service did not say.';
COMMENT ON COLUMN topic_versions.event_count IS 'Number of events, as the service counted them.';
COMMENT ON COLUMN topic_versions.message_count IS 'Number of messages, as the service counted them.';
COMMENT ON COLUMN topic_versions.total_group_count IS 'Number of conversations, as the service counted them.';
COMMENT ON COLUMN topic_versions.staff_response_group_count IS 'Number of those in which staff had answered, as the service counted them.';
COMMENT ON COLUMN topic_versions.archived_at IS 'When it was archived (UTC). NULL when it was not archived.';
COMMENT ON COLUMN topic_versions.deleted_at IS 'When the sync found that the API no longer had it (UTC). NULL when it existed.';
COMMENT ON COLUMN topic_versions.deleted_reason IS 'Why it was deleted. NULL when it existed, or when no reason was known.';
COMMENT ON COLUMN topic_versions.merged_into_id IS 'Id of the topic that it had been merged into. NULL when it was not merged.';
COMMENT ON COLUMN topic_versions.detail_unavailable_reason IS 'Why its detail could not be fetched although it was listed. NULL when it could.';
COMMENT ON COLUMN topic_versions.run_id IS 'Run that last changed this row (ops.runs): that began the version, ended it, or removed what was forgotten.';

CREATE TABLE company_versions (
  company_id VARCHAR,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  name VARCHAR,
  primary_domain VARCHAR,
  is_org_company BOOLEAN,
  is_vip BOOLEAN,
  person_count BIGINT,
  message_count BIGINT,
  deleted_at TIMESTAMPTZ,
  deleted_reason VARCHAR,
  merged_into_id VARCHAR,
  detail_unavailable_reason VARCHAR,
  run_id VARCHAR
);
COMMENT ON TABLE company_versions IS 'What each company looked like over time, as the sync saw it (see topic_versions). Key: company_id, valid_from.';
COMMENT ON COLUMN company_versions.company_id IS 'The company (companies.id).';
COMMENT ON COLUMN company_versions.valid_from IS 'When the answer arrived that first showed the company like this (UTC).';
COMMENT ON COLUMN company_versions.valid_to IS 'When the answer arrived that showed a difference: the valid_from of the next version (UTC). NULL for the current version.';
COMMENT ON COLUMN company_versions.name IS 'Name of the company.';
COMMENT ON COLUMN company_versions.primary_domain IS 'Main domain. NULL when unknown.';
COMMENT ON COLUMN company_versions.is_org_company IS 'True when it was our own company.';
COMMENT ON COLUMN company_versions.is_vip IS 'True when it was marked as VIP.';
COMMENT ON COLUMN company_versions.person_count IS 'Number of people, as the service counted them.';
COMMENT ON COLUMN company_versions.message_count IS 'Number of messages of its people, as the service counted them (companies list or activity, whichever was newer).';
COMMENT ON COLUMN company_versions.deleted_at IS 'When the sync found that the API no longer had it (UTC). NULL when it existed.';
COMMENT ON COLUMN company_versions.deleted_reason IS 'Why it was deleted. NULL when it existed, or when no reason was known.';
COMMENT ON COLUMN company_versions.merged_into_id IS 'Id of the company that it had been merged into. NULL when it was not merged.';
COMMENT ON COLUMN company_versions.detail_unavailable_reason IS 'Why its detail could not be fetched although it was listed. NULL when it could.';
COMMENT ON COLUMN company_versions.run_id IS 'Run that last changed this row (ops.runs): that began the version, ended it, or removed what was forgotten.';

CREATE TABLE people_versions (
  person_id VARCHAR,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  display_name VARCHAR,
  is_vip BOOLEAN,
  company_id VARCHAR,
  identity_count BIGINT,
  conversation_count BIGINT,
  message_count BIGINT,
  deleted_at TIMESTAMPTZ,
  deleted_reason VARCHAR,
  merged_into_id VARCHAR,
  detail_unavailable_reason VARCHAR,
  run_id VARCHAR
);
COMMENT ON TABLE people_versions IS 'What each person looked like over time, as the sync saw it (see topic_versions). Key: person_id, valid_from.';
COMMENT ON COLUMN people_versions.person_id IS 'The person (people.id).';
COMMENT ON COLUMN people_versions.valid_from IS 'When the answer arrived that first showed the person like this (UTC).';
COMMENT ON COLUMN people_versions.valid_to IS 'When the answer arrived that showed a difference: the valid_from of the next version (UTC). NULL for the current version.';
COMMENT ON COLUMN people_versions.display_name IS 'Name of the person.';
COMMENT ON COLUMN people_versions.is_vip IS 'True when the person was marked as VIP.';
COMMENT ON COLUMN people_versions.company_id IS 'The person''s company (companies.id). NULL when the person had none.';
COMMENT ON COLUMN people_versions.identity_count IS 'Number of identities, as the service counted them.';
COMMENT ON COLUMN people_versions.conversation_count IS 'Number of conversations, as the service counted them.';
COMMENT ON COLUMN people_versions.message_count IS 'Number of messages, as the service counted them.';
COMMENT ON COLUMN people_versions.deleted_at IS 'When the sync found that the API no longer had the person (UTC). NULL when the person existed.';
COMMENT ON COLUMN people_versions.deleted_reason IS 'Why the person was deleted. NULL when the person existed, or when no reason was known.';
COMMENT ON COLUMN people_versions.merged_into_id IS 'Id of the person that this one had been merged into. NULL when not merged.';
COMMENT ON COLUMN people_versions.detail_unavailable_reason IS 'Why the person''s detail could not be fetched although the person was listed. NULL when it could.';
COMMENT ON COLUMN people_versions.run_id IS 'Run that last changed this row (ops.runs): that began the version, ended it, or removed what was forgotten.';

CREATE TABLE topic_group_versions (
  topic_id VARCHAR,
  group_id VARCHAR,
  first_seen_at TIMESTAMPTZ,
  last_seen_at TIMESTAMPTZ,
  previous_topic_id VARCHAR,
  reason VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE topic_group_versions IS 'Since when which conversation is in which topic, and until when it was, as this warehouse has seen it. Key: topic_id, group_id, first_seen_at.';
COMMENT ON COLUMN topic_group_versions.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN topic_group_versions.group_id IS 'The conversation (groups.id).';
COMMENT ON COLUMN topic_group_versions.first_seen_at IS 'When an answer first had it there (UTC); or earlier, where the reason is or_earlier.';
COMMENT ON COLUMN topic_group_versions.last_seen_at IS 'When an answer first showed that it was no longer there (UTC). NULL while it is there.';
COMMENT ON COLUMN topic_group_versions.previous_topic_id IS 'The topic in which it was before (topics.id). NULL when it was in none that is known.';
COMMENT ON COLUMN topic_group_versions.reason IS 'Why it came: or_earlier (it was there when the warehouse first looked), new, moved (from another topic) or merged (its topic was merged).';
COMMENT ON COLUMN topic_group_versions.synced_at IS 'When one of its values last changed (UTC).';
COMMENT ON COLUMN topic_group_versions.run_id IS 'Run that last changed one of its values (ops.runs).';
