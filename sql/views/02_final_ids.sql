CREATE OR REPLACE VIEW final_ids AS
WITH RECURSIVE merged AS (
  SELECT 'topic' AS entity_type, id, merged_into_id FROM topics WHERE merged_into_id IS NOT NULL
  UNION ALL
  SELECT 'company', id, merged_into_id FROM companies WHERE merged_into_id IS NOT NULL
  UNION ALL
  SELECT 'person', id, merged_into_id FROM people WHERE merged_into_id IS NOT NULL
  UNION ALL
  -- Merged before the first sync: only the survivor's history still has it.
  SELECT entity_type, source_id, arg_max(target_id, (merged_at, target_id))
  FROM merges
  WHERE CASE entity_type
    WHEN 'topic' THEN source_id NOT IN (SELECT id FROM topics)
    WHEN 'company' THEN source_id NOT IN (SELECT id FROM companies)
    ELSE source_id NOT IN (SELECT id FROM people)
  END
  GROUP BY entity_type, source_id
),
-- Each pair once, so that a circle of merges ends: UNION leaves out what was there before.
followed AS (
  SELECT entity_type, id, merged_into_id AS final_id
  FROM merged
  UNION
  SELECT followed.entity_type, followed.id, merged.merged_into_id
  FROM followed
  JOIN merged ON merged.entity_type = followed.entity_type AND merged.id = followed.final_id
),
ended AS (
  SELECT
    followed.entity_type,
    followed.id,
    -- In a circle none remains: any other one.
    coalesce(
      max(followed.final_id) FILTER (merged.id IS NULL),
      max(followed.final_id) FILTER (followed.final_id <> followed.id)
    ) AS final_id
  FROM followed
  LEFT JOIN merged ON merged.entity_type = followed.entity_type AND merged.id = followed.final_id
  GROUP BY followed.entity_type, followed.id
)
-- As a list, of which DuckDB expects few rows. Of a recursion it expects so many that every view that joins this one builds its
-- hash table of all messages instead.
SELECT unnest(found, max_depth := 2)
FROM (
  SELECT list({'entity_type': entity_type, 'id': id, 'final_id': final_id}) AS found
  FROM ended
);

COMMENT ON VIEW final_ids IS 'Into what was a topic, company or person finally merged, after any number of merges? One row per merged one.';
COMMENT ON COLUMN final_ids.entity_type IS 'What was merged: topic, company or person.';
COMMENT ON COLUMN final_ids.id IS 'Id of the one that was merged away.';
COMMENT ON COLUMN final_ids.final_id IS 'Id of the one that remains after all merges.';
