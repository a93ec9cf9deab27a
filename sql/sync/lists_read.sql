-- The lists that have been read, in any run.
SELECT DISTINCT endpoint FROM ops.scans WHERE form IS DISTINCT FROM 'failed'
