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
