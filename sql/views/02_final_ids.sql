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
followed AS (
  SELECT entity_type, id, merged_into_id AS final_id, 1 AS steps
  FROM merged
  UNION ALL
  SELECT followed.entity_type, followed.id, merged.merged_into_id, steps + 1
  FROM followed
  JOIN merged ON merged.entity_type = followed.entity_type AND merged.id = followed.final_id
  -- Two that name each other as the target must not make the query run forever.
  WHERE steps < 20 AND merged.merged_into_id <> followed.id
)
SELECT entity_type, id, arg_max(final_id, steps) AS final_id
FROM followed
GROUP BY entity_type, id;

COMMENT ON VIEW final_ids IS 'Into what was a topic, company or person finally merged, after any number of merges? One row per merged one.';
COMMENT ON COLUMN final_ids.entity_type IS 'What was merged: topic, company or person.';
COMMENT ON COLUMN final_ids.id IS 'Id of the one that was merged away.';
COMMENT ON COLUMN final_ids.final_id IS 'Id of the one that remains after all merges.';
