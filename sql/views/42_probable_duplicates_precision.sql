CREATE OR REPLACE VIEW probable_duplicates_precision AS
WITH kinds AS (
  SELECT DISTINCT 'topic' AS entity_type, 'topics' AS plural FROM topics
  UNION ALL
  SELECT DISTINCT 'person', 'people' FROM people
),
past AS (
  SELECT entity_type, source_id FROM merges
  UNION
  SELECT 'topic', id FROM topics WHERE merged_into_id IS NOT NULL
  UNION
  SELECT 'person', id FROM people WHERE merged_into_id IS NOT NULL
),
-- What was merged before it was ever fetched has left no text to compare.
seen AS (
  SELECT 'topic' AS entity_type, source.id
  FROM topics AS source
  JOIN topics AS target ON target.id = source.merged_into_id
  UNION ALL
  SELECT 'person', source.id
  FROM people AS source
  JOIN people AS target ON target.id = source.merged_into_id
),
ranked AS (
  SELECT
    entity_type,
    outcome,
    row_number() OVER (PARTITION BY entity_type ORDER BY score DESC, id_1, id_2) AS place
  FROM duplicate_pairs
),
listed AS (
  SELECT
    entity_type,
    sum(CASE WHEN outcome = 'merged' THEN 1 ELSE 0 END) AS found,
    sum(CASE WHEN outcome = 'merged' AND place <= 100 THEN 1 ELSE 0 END) AS in_first_100
  FROM ranked
  GROUP BY entity_type
),
counted AS (
  SELECT
    kinds.entity_type,
    kinds.plural,
    coalesce(past_counts.merges, 0) AS merges,
    coalesce(seen_counts.compared, 0) AS compared,
    CAST(coalesce(listed.found, 0) AS BIGINT) AS found,
    CAST(coalesce(listed.in_first_100, 0) AS BIGINT) AS in_first_100
  FROM kinds
  LEFT JOIN (SELECT entity_type, count(*) AS merges FROM past GROUP BY entity_type) AS past_counts
    ON past_counts.entity_type = kinds.entity_type
  LEFT JOIN (SELECT entity_type, count(*) AS compared FROM seen GROUP BY entity_type) AS seen_counts
    ON seen_counts.entity_type = kinds.entity_type
  LEFT JOIN listed ON listed.entity_type = kinds.entity_type
)
SELECT
  entity_type,
  merges,
  compared,
  found,
  in_first_100,
  CASE
    WHEN merges = 0
      THEN 'No ' || plural || ' have been merged yet, so nobody can say how good this list is.'
    WHEN compared = 0
      THEN 'All past merges of ' || plural || ' (' || CAST(merges AS VARCHAR) || ') were made before the first sync and cannot be compared, so nobody can say how good this list is.'
    ELSE 'Of ' || CAST(compared AS VARCHAR) || ' past merges of ' || plural || ', ' || CAST(in_first_100 AS VARCHAR)
      || ' would have been in the first 100 pairs'
      || CASE
        WHEN merges > compared
          THEN ' (' || CAST(merges - compared AS VARCHAR) || ' more were made before the first sync and cannot be compared)'
        ELSE ''
      END
      || '.'
  END AS sentence
FROM counted;

COMMENT ON VIEW probable_duplicates_precision IS 'How good is probable_duplicates here? What this organization has merged is ranked as if it were still there. One row for topics and one for people.';
COMMENT ON COLUMN probable_duplicates_precision.entity_type IS 'What was merged: topic or person.';
COMMENT ON COLUMN probable_duplicates_precision.merges IS 'How many are known to have been merged into another.';
COMMENT ON COLUMN probable_duplicates_precision.compared IS 'Those of them that had been fetched before, so that they can be compared with the one that remained.';
COMMENT ON COLUMN probable_duplicates_precision.found IS 'Those of them that would be a pair of this list at all.';
COMMENT ON COLUMN probable_duplicates_precision.in_first_100 IS 'Those of them that would be among its first 100 pairs, with all that were merged since.';
COMMENT ON COLUMN probable_duplicates_precision.sentence IS 'The same as a sentence.';
