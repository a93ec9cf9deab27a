-- A publication puts the sums of the numbers in attributes/companies.csv in the data directory here, where there is such a file.
CREATE OR REPLACE VIEW topic_attributes AS
SELECT id AS topic_id
FROM topics
WHERE false;

COMMENT ON VIEW topic_attributes IS 'How much do the companies of a topic stand for? One row per topic in which people of companies of attributes/companies.csv take part, staff not counted; backlog has its columns as well.';
COMMENT ON COLUMN topic_attributes.topic_id IS 'The topic (topics.id).';
