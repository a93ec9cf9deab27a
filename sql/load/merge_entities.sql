-- Makes the rows of ops.entities that a merge changes, as `entities_now`. Reads `writes`, `deletes`, and what was appended.
--
--   {{items}}      the rows of the items that are `concerned` (entities.sql)
--   {{kinds}}      what says something of an item of a list: [list, kind of document, whether it belongs to the item as its part]
--   {{lists}}      the lists with items of their own rows; of others (whoami) the hash is all there is
CREATE OR REPLACE TEMP TABLE listed_now AS
  SELECT list, entity_id, arg_max({'hash': item_hash}, answer_no).hash AS item_hash, max(answer_no) AS answer_no
  FROM appended.listed
  GROUP BY ALL;

-- With the last answer that says anything of it; one that says that a part is gone counts as the last one in any case.
CREATE OR REPLACE TEMP TABLE concerned AS
  WITH kinds AS (
    SELECT kind[1] AS list, kind[2] AS kind, kind[3] = 'part' AS is_part FROM (SELECT unnest([{{kinds}}]) AS kind)
  ),
  shown AS (
    SELECT endpoint, id, parent_id, last_no AS answer_no FROM writes
    UNION ALL
    SELECT endpoint, id, parent_id, 9_223_372_036_854_775_807 FROM deletes
  )
  SELECT list, entity_id, max(answer_no) AS answer_no
  FROM (
    SELECT kinds.list, CASE WHEN is_part THEN parent_id ELSE id END AS entity_id, answer_no
    FROM shown
    JOIN kinds ON kinds.kind = shown.endpoint
    UNION ALL
    SELECT list, entity_id, answer_no FROM listed_now
  )
  GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE entities_now AS
  SELECT items.*, CASE WHEN listed_now.answer_no >= concerned.answer_no THEN listed_now.item_hash END AS item_hash
  FROM ({{items}}) AS items
  LEFT JOIN concerned USING (list, entity_id)
  LEFT JOIN listed_now USING (list, entity_id)
  UNION ALL BY NAME
  SELECT list, entity_id, false AS is_whole, false AS is_company_known, item_hash FROM listed_now WHERE list NOT IN ({{lists}})
  EXCEPT
  FROM ops.entities;

DELETE FROM ops.entities WHERE (list, entity_id) IN (SELECT (list, entity_id) FROM entities_now);
INSERT INTO ops.entities BY NAME FROM entities_now;
