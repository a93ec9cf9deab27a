-- A publication puts the entries of the settings (analysis.serviceLevels) in the place of the empty list.
CREATE OR REPLACE VIEW service_levels AS
SELECT
  unnest(
    []::STRUCT(
      position INTEGER, name VARCHAR, is_vip BOOLEAN, topic_priorities VARCHAR[], first_reply_hours DOUBLE, next_reply_hours DOUBLE
    )[],
    max_depth := 2
  );

COMMENT ON VIEW service_levels IS 'How fast is staff to reply? One row per entry of the setting analysis.serviceLevels; empty without it.';
COMMENT ON COLUMN service_levels.position IS 'Its place in the list: the first entry that fits a conversation counts.';
COMMENT ON COLUMN service_levels.name IS 'Its name.';
COMMENT ON COLUMN service_levels.is_vip IS 'Whether it is for VIPs (true) or for everybody else (false). NULL for both.';
COMMENT ON COLUMN service_levels.topic_priorities IS 'The priorities of topics that it is for. NULL for all, and for conversations without a topic.';
COMMENT ON COLUMN service_levels.first_reply_hours IS 'Working hours until the first reply. NULL: not promised.';
COMMENT ON COLUMN service_levels.next_reply_hours IS 'Working hours until the reply to what follows a reply. NULL: not promised.';
