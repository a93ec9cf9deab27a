-- What a company or person counted when its conversations were last fetched: with it, the next fetch knows how much is new.
ALTER TABLE ops.coverage ADD COLUMN counters VARCHAR;
COMMENT ON COLUMN ops.coverage.counters IS 'The change fields of the parent at that time, as a JSON object, where an answer has several pages: the next fetch may end early when it has found as many new messages as the counters moved by. NULL: the next fetch reads to the end.';
