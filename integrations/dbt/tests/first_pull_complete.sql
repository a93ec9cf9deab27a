-- Until everything was fetched at least once, numbers are too low, and the past has gaps. It is a warning: models build all the same.
{{ config(severity = 'warn') }}
SELECT requests_left FROM {{ source('signalhouse', 'data_as_of') }} WHERE NOT is_complete
