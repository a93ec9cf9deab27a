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
