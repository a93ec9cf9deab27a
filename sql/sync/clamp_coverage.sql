-- Moves the times of a clock that was ahead back to now: from now on they grow old like the others. Otherwise what was
-- fetched then would not be swept until that time has come.
--
--   $now  the current time
UPDATE ops.coverage SET fetched_at = $now WHERE fetched_at > $now
