-- Ages and trends in the other views count back from here and not from now(). So the same file gives the same answer
-- tomorrow, and people do not look silent only because the warehouse was not synced for a week.
CREATE OR REPLACE VIEW data_as_of AS
SELECT
  greatest(
    -- The service's own clock: topics move with every message, histories with every change.
    (SELECT max(updated_at) FILTER (isfinite(updated_at)) FROM topics),
    (SELECT max(changed_at) FILTER (isfinite(changed_at)) FROM history),
    -- Messages have the time of their source, which may be wrong: one written after it was fetched does not count.
    (SELECT max(created_at) FILTER (created_at <= synced_at) FROM messages)
  ) AS as_of,
  (SELECT max(started_at) FROM ops.runs WHERE command = 'sync') AS last_sync_at;

COMMENT ON VIEW data_as_of IS 'How recent are the data? One row; the ages and trends in the other views count back from as_of.';
COMMENT ON COLUMN data_as_of.as_of IS 'The latest time in the data (UTC): when a topic was updated, a change recorded or a message written.';
COMMENT ON COLUMN data_as_of.last_sync_at IS 'When the last sync started (UTC).';
