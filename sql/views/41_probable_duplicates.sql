CREATE OR REPLACE VIEW probable_duplicates AS
SELECT
  row_number() OVER (PARTITION BY pairs.entity_type ORDER BY pairs.score DESC, pairs.id_1, pairs.id_2) AS place,
  pairs.entity_type,
  pairs.score,
  pairs.reasons,
  pairs.id_1,
  coalesce(topic_1.title, person_1.display_name) AS name_1,
  pairs.id_2,
  coalesce(topic_2.title, person_2.display_name) AS name_2
FROM duplicate_pairs AS pairs
LEFT JOIN topics AS topic_1 ON pairs.entity_type = 'topic' AND topic_1.id = pairs.id_1
LEFT JOIN topics AS topic_2 ON pairs.entity_type = 'topic' AND topic_2.id = pairs.id_2
LEFT JOIN people AS person_1 ON pairs.entity_type = 'person' AND person_1.id = pairs.id_1
LEFT JOIN people AS person_2 ON pairs.entity_type = 'person' AND person_2.id = pairs.id_2
WHERE pairs.outcome = 'open';

COMMENT ON VIEW probable_duplicates IS 'Which topics, and which people, are probably the same? One row per pair; probable_duplicates_precision says how often such a list was right. Deleted, merged, superseded and archived ones are left out.';
COMMENT ON COLUMN probable_duplicates.place IS 'Its place among the pairs of topics, or of people: 1 is the most probable.';
COMMENT ON COLUMN probable_duplicates.entity_type IS 'What they are: topic or person.';
COMMENT ON COLUMN probable_duplicates.score IS 'How much speaks for it, above 0 and below 1. It ranks pairs and is no probability.';
COMMENT ON COLUMN probable_duplicates.reasons IS 'What speaks for it and against it, in words: the rare words that both have, people and companies in both, how far apart they began.';
COMMENT ON COLUMN probable_duplicates.id_1 IS 'The one whose id is the smaller (topics.id or people.id).';
COMMENT ON COLUMN probable_duplicates.name_1 IS 'Its title or name.';
COMMENT ON COLUMN probable_duplicates.id_2 IS 'The other one (topics.id or people.id).';
COMMENT ON COLUMN probable_duplicates.name_2 IS 'Its title or name.';
