{# No two rows are equal in all of these columns; NULL equals NULL. #}
{% test unique_rows(model, columns) %}
SELECT {{ columns | join(', ') }}, count(*) AS rows_found
FROM {{ model }}
GROUP BY {{ columns | join(', ') }}
HAVING count(*) > 1
{% endtest %}
