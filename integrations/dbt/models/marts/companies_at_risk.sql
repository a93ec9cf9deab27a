-- The companies that we may lose, and why.
SELECT *
FROM {{ source('signalhouse', 'companies_at_risk') }}
