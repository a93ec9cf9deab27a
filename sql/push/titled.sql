-- The topics or companies with a title in $ids, apart from case, spaces and signs, of those that can be changed; for the
-- first 20 titles that none has, the one with the most similar title.
WITH candidates AS (
  SELECT
    id,
    title,
    concat_ws(', ', lifecycle_state, priority, if(archived_at IS NULL, NULL, 'archived')) AS about,
    archived_at IS NULL
      AND coalesce(graph_status, 'active') = 'active'
      AND coalesce(lifecycle_state, 'unknown') NOT IN ('completed', 'dismissed') AS is_open
  FROM topics
  WHERE $entity_type = 'topic'
    AND deleted_at IS NULL
    AND merged_into_id IS NULL
    AND detail_unavailable_reason IS NULL
  UNION ALL
  SELECT id, name, coalesce(primary_domain, ''), true
  FROM companies
  WHERE $entity_type = 'company'
    AND deleted_at IS NULL
    AND merged_into_id IS NULL
    AND detail_unavailable_reason IS NULL
),
titled AS (
  SELECT
    *,
    lower(regexp_replace(nfc_normalize(title), '[^\p{L}\p{M}\p{N}]|[\x{0307}\x{FE00}-\x{FE0F}]', '', 'g')) AS letters,
    if(letters = '', trim(title), letters) AS key
  FROM candidates
  WHERE title IS NOT NULL
),
asked AS (
  SELECT
    asked,
    lower(regexp_replace(nfc_normalize(asked), '[^\p{L}\p{M}\p{N}]|[\x{0307}\x{FE00}-\x{FE0F}]', '', 'g')) AS letters,
    if(letters = '', trim(asked), letters) AS key
  FROM (SELECT DISTINCT unnest($ids) AS asked)
),
found AS (
  SELECT asked.asked, titled.id, titled.title, titled.about, titled.is_open, true AS is_same
  FROM asked
  JOIN titled USING (key)
),
nearest AS (
  SELECT
    lost.asked,
    unnest(max_by(titled, jaro_winkler_similarity(titled.letters, lost.letters), 1)) AS found
  FROM (SELECT * FROM asked WHERE asked NOT IN (SELECT asked FROM found) ORDER BY asked LIMIT 20) AS lost
  JOIN titled ON jaro_winkler_similarity(titled.letters, lost.letters) > 0.85
  GROUP BY lost.asked
)
FROM found
UNION ALL
SELECT asked, found.id, found.title, found.about, found.is_open, false
FROM nearest
ORDER BY asked, is_open DESC, id;
