-- Messages by week and source: the 26 weeks up to that of the data.
SELECT week, source_name AS source, messages
FROM source_mix, data_as_of
WHERE week > (as_of AT TIME ZONE 'UTC')::DATE - 26 * 7 AND week <= (as_of AT TIME ZONE 'UTC')::DATE
ORDER BY week, source;
