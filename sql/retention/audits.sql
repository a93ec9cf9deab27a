-- Checks that are older than $before.
DELETE FROM ops.audits WHERE "at" < $before
