-- Moves the times of a clock that was ahead back to now: from now on they grow old like the others. Otherwise what was
-- fetched then would not be swept until that time has come.
--
--   {{now}}  the current time
UPDATE ops.coverage SET fetched_at = {{now}} WHERE fetched_at > {{now}};
UPDATE raw.documents SET fetched_at = {{now}} WHERE fetched_at > {{now}};
UPDATE ops.audits SET "at" = {{now}} WHERE "at" > {{now}};
UPDATE ops.scans SET started_at = least(started_at, {{now}}), ended_at = {{now}} WHERE ended_at > {{now}};
UPDATE ops.runs SET started_at = least(started_at, {{now}}), ended_at = least(ended_at, {{now}})
WHERE greatest(started_at, ended_at) > {{now}}
