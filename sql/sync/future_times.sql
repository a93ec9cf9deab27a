-- Whether anything has a time after $now: every row has it from a run or from an answer that a run fetched.
SELECT 1
WHERE EXISTS (FROM ops.runs WHERE greatest(started_at, ended_at) > $now)
  OR EXISTS (FROM ops.coverage WHERE fetched_at > $now)
  OR EXISTS (FROM raw.documents WHERE fetched_at > $now)
