-- What decides what is due of the items of one list, as ops.entities has it. An item that left its list is what its own detail
-- says.
--
--   {{list}}, {{presence}}, {{detail}}  the kinds of documents: its items, what became of them, and the answers by id
--   {{paths}}                           the JSON paths of what items are read for, as a list (src/load/known.ts)
--   {{whole}}                           the fields of which an item may have every one that its detail has, as a list
--   {{in_scope}}                        which items, as a condition on the id of a document
WITH items AS (
  SELECT
    documents.id,
    CASE WHEN presence.it.unlistedSince IS NOT NULL AND own.id IS NOT NULL THEN own.body ELSE documents.body END AS body,
    own.id IS NOT NULL AS has_detail,
    presence.it
  FROM raw.documents
  LEFT JOIN (
    SELECT id, from_json(body, '{
      "deletedAt": "VARCHAR", "deletedReason": "VARCHAR", "mergedIntoId": "VARCHAR", "detailUnavailableReason": "VARCHAR",
      "unlistedSince": "VARCHAR", "askedAt": "VARCHAR"
    }') AS it
    FROM raw.documents
    WHERE endpoint = {{presence}} AND {{in_scope}}
  ) AS presence ON presence.id = documents.id
  LEFT JOIN (SELECT id, body FROM raw.documents WHERE endpoint = {{detail}} AND {{in_scope}}) AS own ON own.id = documents.id
  WHERE documents.endpoint = {{list}} AND {{in_scope}}
),
parsed AS (
  SELECT
    id,
    -- Numbers, times and true or false as they are, other text (which may be long, or personal) as a short hash, and lists as
    -- one with their length; nothing where the item does not have the field.
    array_to_string(list_transform(json_extract_string(body, {{paths}}), lambda value: CASE
      WHEN value IS NULL THEN ''
      WHEN regexp_full_match(value, 'true|false|-?[0-9.]{1,20}|[0-9]{4}-[0-9]{2}-[0-9]{2}[0-9T:.Z+-]{0,20}') THEN value
      ELSE '#' || md5(value)[:12] || coalesce(' ' || json_array_length(TRY_CAST(value AS JSON)), '')
    END), chr(9)) AS fields,
    len({{whole}}) > 0 AND list_has_all(json_keys(body), {{whole}}) AS is_whole,
    {{list}} = 'people' AND (has_detail OR list_contains(json_keys(body), 'company')) AS is_company_known,
    it
  FROM items
)
SELECT
  {{list}} AS list,
  parsed.id AS entity_id,
  fields,
  is_whole,
  people.company_id,
  link.answer_no AS company_no,
  is_company_known,
  raw.moment(it.deletedAt) AS deleted_at,
  it.deletedReason AS deleted_reason,
  it.mergedIntoId AS merged_into_id,
  it.detailUnavailableReason AS unavailable_reason,
  raw.moment(it.unlistedSince) AS unlisted_since,
  raw.moment(it.askedAt) AS asked_at
FROM parsed
LEFT JOIN main.people ON {{list}} = 'people' AND people.id = parsed.id
LEFT JOIN raw.documents AS link
  ON link.endpoint = 'person_companies' AND link.parent_id = parsed.id AND link.id = people.company_id
