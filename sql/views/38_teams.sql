-- A publication puts the entries of the settings (analysis.teams) in the place of the empty list.
CREATE OR REPLACE VIEW teams AS
SELECT unnest([]::STRUCT(position INTEGER, team VARCHAR, person_id VARCHAR)[], max_depth := 2);

COMMENT ON VIEW teams IS 'Who is in which team? One row per team and person of the setting analysis.teams; empty without it.';
COMMENT ON COLUMN teams.position IS 'The place of the team in the setting.';
COMMENT ON COLUMN teams.team IS 'Name of the team.';
COMMENT ON COLUMN teams.person_id IS 'A person of the team (people.id).';
