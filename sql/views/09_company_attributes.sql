-- A publication puts the columns of attributes/companies.csv in the data directory here, where there is such a file.
CREATE OR REPLACE VIEW company_attributes AS
SELECT id AS company_id
FROM companies
WHERE false;

COMMENT ON VIEW company_attributes IS 'What attributes/companies.csv says of each company, without what the views say themselves. One row per company in it; company_health has its columns as well. The whole of it is in attributes.companies.';
COMMENT ON COLUMN company_attributes.company_id IS 'The company (companies.id).';
