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
COMMENT ON COLUMN ops.audit.action IS 'forget (signalhouse forget), expire (retention.deletedContentDays), export (a file was written for somebody) or read (somebody queried, or looked at the report).';
COMMENT ON COLUMN ops.audit.entity_type IS 'What was forgotten: person, company or conversation. NULL for other actions.';
COMMENT ON COLUMN ops.audit.entities IS 'How many of them. NULL where that is not counted.';
COMMENT ON COLUMN ops.audit.requested_by IS 'Who asked for it: the user of the operating system, or what --by says.';
COMMENT ON COLUMN ops.audit.reason IS 'Why, as --reason says. NULL when nothing was said.';
COMMENT ON COLUMN ops.audit.details IS 'What it concerned, as JSON: documents by kind and rows by other table that were changed, or the tables, the format and the file of an export. Nothing personal.';
COMMENT ON COLUMN ops.audit.pending IS 'Steps that still have to be done: compact, publish, lake. NULL when all are done.';
COMMENT ON COLUMN ops.audit.completed_at IS 'When the last step was done (UTC). NULL until then.';
