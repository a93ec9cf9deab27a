-- Requests to the API that are older than $before.
DELETE FROM ops.requests WHERE "at" < $before
