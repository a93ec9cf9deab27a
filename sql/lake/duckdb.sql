-- What sql/views need in a DuckDB that reads the tables of an Iceberg lake: docs/lake.md says how to run them after this file.
CREATE SCHEMA IF NOT EXISTS raw;
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

CREATE SCHEMA IF NOT EXISTS ops;
CREATE OR REPLACE VIEW ops.runs AS SELECT 'sync' AS command, last_sync_at AS started_at FROM publications;
