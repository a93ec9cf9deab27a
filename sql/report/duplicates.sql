-- The topics and people that are most probably the same, with how good such a list was for what was merged in the past.
SELECT precision.entity_type, precision.sentence AS measured, place, score, reasons, id_1, name_1, id_2, name_2,
  count(id_1) OVER (PARTITION BY precision.entity_type) AS found
FROM probable_duplicates_precision AS precision
LEFT JOIN probable_duplicates USING (entity_type)
QUALIFY coalesce(place, 1) <= 10
ORDER BY precision.entity_type DESC, place;
