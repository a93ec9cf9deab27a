-- What the API last said of these companies by id, as documents.
SELECT id, body::VARCHAR AS body
FROM raw.documents
WHERE endpoint = 'company' AND id IN (SELECT unnest(from_json($ids::JSON, '["VARCHAR"]')));
