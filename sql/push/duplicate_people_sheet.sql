-- The people who are probably the same, for information: the most probable first.
SELECT
  pairs.score,
  array_to_string(pairs.reasons, '; ') AS reasons,
  pairs.name_1,
  pairs.name_2,
  one.primary_email AS email_1,
  other.primary_email AS email_2,
  company_1.name AS company_1,
  company_2.name AS company_2,
  one.message_count AS messages_1,
  other.message_count AS messages_2,
  pairs.id_1 AS person_id_1,
  pairs.id_2 AS person_id_2,
  -- The one with fewer messages goes. Ids come from the API: one that a shell would read otherwise gets no command.
  CASE
    WHEN regexp_full_match(pairs.id_1 || pairs.id_2, '[A-Za-z0-9_-]+')
      THEN format(
        'signalhouse changes merge-people {} --into {}',
        if(coalesce(one.message_count, 0) < coalesce(other.message_count, 0), pairs.id_1, pairs.id_2),
        if(coalesce(one.message_count, 0) < coalesce(other.message_count, 0), pairs.id_2, pairs.id_1)
      )
  END AS command
FROM probable_duplicates AS pairs
JOIN people AS one ON one.id = pairs.id_1
JOIN people AS other ON other.id = pairs.id_2
LEFT JOIN companies AS company_1 ON company_1.id = one.company_id
LEFT JOIN companies AS company_2 ON company_2.id = other.company_id
WHERE pairs.entity_type = 'person' AND pairs.place <= 200
ORDER BY pairs.place
