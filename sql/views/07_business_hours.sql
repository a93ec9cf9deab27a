-- A publication puts the values of the settings (analysis.businessHours) in the place of these.
CREATE OR REPLACE VIEW business_hours AS
SELECT
  'UTC' AS timezone,
  [1, 2, 3, 4, 5] AS days,
  TIME '09:00' AS opens,
  TIME '17:00' AS closes;

COMMENT ON VIEW business_hours IS 'When are we at work? One row: the setting analysis.businessHours.';
COMMENT ON COLUMN business_hours.timezone IS 'The time zone of opens and closes.';
COMMENT ON COLUMN business_hours.days IS 'The working days: 1 is Monday, 7 is Sunday.';
COMMENT ON COLUMN business_hours.opens IS 'When work begins on each of them.';
COMMENT ON COLUMN business_hours.closes IS 'When work ends on each of them.';
