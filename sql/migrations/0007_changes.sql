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
COMMENT ON COLUMN ops.changes.remote_after IS 'What the API had in those columns afterwards, according to its answer.';
COMMENT ON COLUMN ops.changes.error_code IS 'The API''s code or reason (http_ and the status where it gave none), or ours: conflict (somebody else changed it), contested (somebody else wants another value), not_found, refused (the key), refused_item (the API refused it in an answer with success), unknown_connections (setting one might delete others that the document does not name), merged (the person was merged into somebody else), not_seen (not made, although it was answered with success or may have been applied), not_shown (accepted, and the API shows no such field), other_form (applied; the API stores the text in another form), no_answer (it may have been applied), http_409 (the same, after the API answered 409), not_read (what the API has could not be read), older_answer (the API returned an older state than before), not_sent (its endpoint gave no usable answer). NULL when all went well.';
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
