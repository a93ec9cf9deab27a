-- The documents of these companies, as the API last returned them by id.
SELECT id, body::VARCHAR AS body
FROM raw.documents
WHERE endpoint = 'company' AND id IN (SELECT unnest(from_json($ids::JSON, '["VARCHAR"]')));
