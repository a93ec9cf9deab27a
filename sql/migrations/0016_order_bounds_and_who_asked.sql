-- Messages of one moment are in the order in which the API returned them, not in that of their random ids.
ALTER TABLE messages ADD COLUMN position INTEGER;
COMMENT ON COLUMN messages.position IS 'Its place among the messages of its conversation with the same created_at, as the API returned them: 1, 2, … The order of messages is created_at, position.';

-- A time that no calendar and no program shows is none: 'infinity', the year 275760, 44 BC. (Computed once, although it stands
-- here twice; a subquery takes twice the time.)
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
  WHEN raw.is_younger(one, one_at, other, other_at) THEN json_extract(one, path)
  ELSE json_extract(other, path)
END;
COMMENT ON MACRO raw.younger_field IS 'One field of two documents about the same entity, taken whole from the newer document that has it.';

-- One row per record and path, the newest.
DELETE FROM ops.rejected_records
WHERE rowid NOT IN (
  SELECT rowid
  FROM ops.rejected_records
  QUALIFY row_number() OVER (PARTITION BY endpoint, parent_id, id, path ORDER BY last_seen_at DESC, rowid DESC) = 1
);

COMMENT ON TABLE ops.rejected_records IS 'Records that were rejected because they do not have the documented form; the rest of their page was loaded. Each as it was last seen. Key: endpoint, parent_id, id, path.';
COMMENT ON COLUMN ops.rejected_records.id IS 'Id of the record. NULL where it has none that can be stored; such records are known by where they are, and the last one of them stands for all.';
COMMENT ON COLUMN ops.rejected_records.body IS 'The record as the API last sent it.';
COMMENT ON COLUMN ops.rejected_records.resolved_at IS 'When the record loaded well again, or was no longer there (UTC). NULL while it is still rejected.';
COMMENT ON TABLE ops.schema_drift IS 'Where the API''s answers differ from its document: fields that nobody documented (they are kept in raw.documents), missing ones, other types, text that had to be made storable. At most 200 of each endpoint and kind. Key: endpoint, path, kind.';
COMMENT ON COLUMN ops.schema_drift.path IS 'The field, as a path inside the document; shortened where it is longer than 200 characters.';
COMMENT ON COLUMN ops.forgotten.part IS 'What it is of: person, author, company, conversation or message (an id), identity (an account), source_id (an account or message in its source), email (of a person whose id is not known yet), name, text (an address, a link, a number), quote (what the person wrote, in its conversation), or line (the same elsewhere).';
COMMENT ON COLUMN ops.coverage.reason IS 'The error body''s data.reason, e.g. archived_in_v1_to_v2_migration; or why it is requested again at growing intervals (again: incomplete, contradicted, emptied, unconfirmed, rejected or short). NULL where there is neither.';

-- Who asked is a person or nobody: the user of a service says nothing.

COMMENT ON COLUMN ops.changes.requested_by IS 'The person who requested it: --by, the folder in the drop folder, who saved the file last, the user at the terminal, or command line where nobody was named there. NULL when nobody was named.';
COMMENT ON COLUMN ops.changes.error_code IS 'The API''s code or reason (http_ and the status where it gave none), or ours: conflict (somebody else changed it), contested (somebody else wants another value), not_found, refused (the key), refused_item (the API refused this company of several), not_seen (answered with success, but not made), no_answer (it may have been applied), not_read (what the API has could not be read), not_sent (its endpoint gave no usable answer). NULL when all went well.';
COMMENT ON COLUMN ops.changes.remote_before IS 'What the API had in those columns right before it was sent, with updated_at where it has one, or when the conflict was found. signalhouse changes undo puts this back.';

-- What goes on has its latest name in its own row.
COMMENT ON COLUMN merges.target_name IS 'Its name or title, from its own row or else from the source''s history. NULL when unknown.';
