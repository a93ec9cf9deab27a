-- Topics, and people, that are probably the same, with the pairs that have been merged, which show how good this is.

CREATE TABLE duplicate_pairs (
  entity_type VARCHAR,
  id_1 VARCHAR,
  id_2 VARCHAR,
  score DOUBLE,
  reasons VARCHAR[],
  outcome VARCHAR
);
COMMENT ON TABLE duplicate_pairs IS 'The pairs of probable_duplicates, and those that were merged since. Key: entity_type, id_1, id_2.';
COMMENT ON COLUMN duplicate_pairs.entity_type IS 'What they are: topic or person.';
COMMENT ON COLUMN duplicate_pairs.id_1 IS 'The one whose id is the smaller (topics.id or people.id).';
COMMENT ON COLUMN duplicate_pairs.id_2 IS 'The other one (topics.id or people.id).';
COMMENT ON COLUMN duplicate_pairs.score IS 'How much speaks for it, above 0 and below 1. It ranks pairs and is no probability: probable_duplicates_precision says how often it was right.';
COMMENT ON COLUMN duplicate_pairs.reasons IS 'What speaks for it and against it, in words: the rare words that both have, people and companies in both, how far apart they began.';
COMMENT ON COLUMN duplicate_pairs.outcome IS 'open (both are there), merged (one was merged into the other), or gone (one of them was merged into something else).';
