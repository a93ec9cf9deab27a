-- What the report is about, and from when on "since" counts: by default the last seven days of the data.
SELECT
  (SELECT coalesce(name, id) FROM organizations ORDER BY synced_at DESC LIMIT 1) AS organization,
  as_of,
  last_sync_at,
  coalesce($since::TIMESTAMPTZ, date_trunc('day', as_of - INTERVAL 7 DAY), date_trunc('day', last_sync_at)) AS since
FROM data_as_of;
