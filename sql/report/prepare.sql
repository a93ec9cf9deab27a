-- What several queries of the report need is computed once: with 200,000 messages, each of these views takes up to a second.
CREATE TEMP TABLE report_waiting AS FROM unanswered_groups;
CREATE TEMP TABLE report_backlog AS FROM backlog;
CREATE TEMP TABLE report_companies AS FROM company_health;
