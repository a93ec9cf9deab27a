-- Ages and trends in the other views count back from here and not from now(). So the same file gives the same answer
-- tomorrow, and people do not look silent only because the warehouse was not synced for a week.
CREATE OR REPLACE VIEW data_as_of AS
SELECT
  coalesce(
    -- A time after the moment at which it was fetched is wrong, whoever said it, and does not count: a topic of the year 2099
    -- would make every other one look old.
    greatest(
      (SELECT max(updated_at) FILTER (isfinite(updated_at) AND coalesce(updated_at <= synced_at, true)) FROM topics),
      (SELECT max(changed_at) FILTER (isfinite(changed_at) AND coalesce(changed_at <= synced_at, true)) FROM history),
      (SELECT max(created_at) FILTER (created_at <= synced_at) FROM messages)
    ),
    (SELECT max(synced_at) FROM topics)
  ) AS as_of,
  (SELECT max(started_at) FROM ops.runs WHERE command = 'sync') AS last_sync_at,
  (SELECT arg_max(first_pull_left, run_id) FROM ops.runs WHERE command = 'sync') AS requests_left,
  (SELECT arg_max(first_pull_left, run_id) FROM ops.runs WHERE command = 'sync') = 0 AS is_complete;

COMMENT ON VIEW data_as_of IS 'How recent are the data? One row; the ages and trends in the other views count back from as_of.';
COMMENT ON COLUMN data_as_of.as_of IS 'The latest time in the data (UTC): when a topic was updated, a change recorded or a message written. Times after the moment at which they were fetched do not count.';
COMMENT ON COLUMN data_as_of.last_sync_at IS 'When the last sync started (UTC).';
COMMENT ON COLUMN data_as_of.requests_left IS 'Requests that the first pull still takes: what was never fetched is in no table, and numbers are too low. 0 from the sync on that first left nothing of it. NULL while that is not known.';
COMMENT ON COLUMN data_as_of.is_complete IS 'True once everything was fetched at least once. What a later sync leaves at its limit only lags behind. NULL while that is not known.';
