-- Why two people are probably the same; no row where nothing says so.
SELECT score, reasons
FROM duplicate_pairs
WHERE entity_type = 'person' AND id_1 = least($source, $target) AND id_2 = greatest($source, $target)
