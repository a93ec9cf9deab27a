-- The order in which answers arrived, kept by the warehouse. This machine's clock may jump; which of two answers is the
-- later one must not depend on it. Times (fetched_at) say when, and decide nothing.
--
-- Answers are numbered from 1 on. Those stored before this migration get negative numbers in the order of their times,
-- since nothing else is known about them: microseconds since 1970, less so many that the result is negative until 2096.

ALTER TABLE raw.documents ADD COLUMN answer_no BIGINT;
UPDATE raw.documents SET answer_no = least(epoch_us(fetched_at) - 4_000_000_000_000_000, 0);
COMMENT ON COLUMN raw.documents.answer_no IS 'Number of the answer that last changed this document, in the order in which answers arrived; negative for what was stored before answers were numbered. Where two documents have the same field, the one with the greater number wins.';
COMMENT ON COLUMN raw.documents.fetched_at IS 'When the answer that last changed this document arrived, by the clock of the worker (UTC). The order of answers is answer_no: a clock may jump.';

ALTER TABLE ops.coverage ADD COLUMN answer_no BIGINT;
UPDATE ops.coverage SET answer_no = least(epoch_us(fetched_at) - 4_000_000_000_000_000, 0);
COMMENT ON COLUMN ops.coverage.answer_no IS 'Number of the answer of fetched_at, in the order in which answers arrived (as in raw.documents).';
