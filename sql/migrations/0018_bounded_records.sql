-- One row per record and path, the newest.
DELETE FROM ops.rejected_records
WHERE rowid NOT IN (
  SELECT rowid
  FROM ops.rejected_records
  QUALIFY row_number() OVER (PARTITION BY endpoint, parent_id, id, path ORDER BY last_seen_at DESC, rowid DESC) = 1
);

COMMENT ON TABLE ops.rejected_records IS 'Records that were set aside because they do not have the documented form; the rest of their page was loaded. Each as it was last seen. Key: endpoint, parent_id, id, path.';
COMMENT ON COLUMN ops.rejected_records.id IS 'Id of the record. NULL where it has none that can be stored; such records are known by where they are, and the last one of them stands for all.';
COMMENT ON COLUMN ops.rejected_records.body IS 'The record as the API last sent it.';
COMMENT ON COLUMN ops.rejected_records.resolved_at IS 'When the record loaded well again, or was no longer there (UTC). NULL while it is still rejected.';
COMMENT ON TABLE ops.schema_drift IS 'Where the API''s answers differ from its document: fields that nobody documented (they are kept in raw.documents), missing ones, other types, text that had to be made storable. At most 200 of each endpoint and kind. Key: endpoint, path, kind.';
COMMENT ON COLUMN ops.schema_drift.path IS 'The field, as a path inside the document; shortened where it is longer than 200 characters.';
COMMENT ON COLUMN ops.forgotten.part IS 'What it is of: person, author, company, conversation or message (an id), identity (an account), source_id (an account or message in its source), email (of a person whose id is not known yet), name, text (an address, a link, a number), quote (what the person wrote, in its conversation), or line (the same elsewhere).';
COMMENT ON COLUMN ops.coverage.reason IS 'The error body''s data.reason, e.g. archived_in_v1_to_v2_migration; or why it is requested again at growing intervals (again: incomplete, contradicted, emptied, unconfirmed, rejected or short). NULL where there is neither.';
