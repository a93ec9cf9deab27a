-- What was taken out of a document, so that an answer with the same parts need not be taken apart again.

ALTER TABLE raw.documents ADD COLUMN parts_hash VARCHAR;
COMMENT ON COLUMN raw.documents.parts_hash IS 'Hash of the parts that were taken out of the document and stored as documents of their own, as they were when it was last fetched: the messages of a conversation, the people of a topic. NULL where it has none, or where not all of them could be stored.';
