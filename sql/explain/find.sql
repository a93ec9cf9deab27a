-- The entities of one kind that an id or a title may mean: the best matches first.
--
--   $what      an id, a title or name, or a part of one
--   {{table}}  the table of the kind
--   {{name}}   its column with the title or name
--   {{gone}}   whether a row is gone, as SQL over the table
SELECT id, {{name}} AS name, {{gone}} AS "isGone",
  CASE WHEN id = $what THEN 'id' WHEN lower(trim({{name}})) = lower($what) THEN 'name' ELSE 'part' END AS match
FROM {{table}}
WHERE id = $what OR contains(lower({{name}}), lower($what))
ORDER BY array_position(['id', 'name', 'part'], match), "isGone", synced_at DESC, id
