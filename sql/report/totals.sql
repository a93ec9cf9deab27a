-- The key figures at the top.
SELECT
  (SELECT count(*) FROM report_backlog) AS open_topics,
  (SELECT count(*) FROM report_backlog WHERE priority_rank <= 2) AS urgent_topics,
  (SELECT count(*) FROM report_waiting) AS waiting,
  (SELECT count(*) FROM report_waiting WHERE is_vip) AS waiting_vip,
  (SELECT count(*) FROM report_waiting WHERE was_answered_before) AS waiting_again,
  (SELECT median(waiting_hours) FROM report_waiting) AS median_hours,
  (SELECT count(*) FROM message_senders, data_as_of
   WHERE side = 'external' AND created_at > as_of - INTERVAL 7 DAY AND created_at <= as_of) AS messages,
  (SELECT count(*) FROM message_senders, data_as_of
   WHERE side = 'external' AND created_at > as_of - INTERVAL 14 DAY AND created_at <= as_of - INTERVAL 7 DAY)
    AS messages_before,
  (SELECT count(*) FROM companies WHERE deleted_at IS NULL AND NOT coalesce(is_org_company, false)) AS companies,
  (SELECT count(*) FROM service_levels) AS service_levels;
