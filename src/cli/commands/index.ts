import type { Command, CommandGroup, Group } from '../command.js';
import { changes } from './changes.js';
import { config } from './config.js';
import { demo } from './demo.js';
import { doctor } from './doctor.js';
import { explain } from './explain.js';
import { exportCommand } from './export.js';
import { forget } from './forget.js';
import { lake } from './lake.js';
import { mcp } from './mcp.js';
import { rebuild, restore } from './recovery.js';
import { report } from './report.js';
import { plan, push, sync } from './runs.js';
import { sandbox } from './sandbox.js';
import { serve } from './serve.js';
import { sql } from './sql.js';
import { status } from './status.js';
import { user } from './user.js';

/** Every command, in groups, in the order of `--help` and of the README. */
export const commandGroups: readonly CommandGroup[] = [
  { heading: 'Pull', commands: [sync, plan, status, explain] },
  { heading: 'Change', commands: [changes, push] },
  { heading: 'Look', commands: [sql, exportCommand, report, mcp] },
  { heading: 'Run', commands: [serve, user, doctor, config, rebuild, restore, forget, lake] },
  { heading: 'Try', commands: [sandbox, demo] },
];

export const commands: readonly (Command | Group)[] = commandGroups.flatMap((group) => group.commands);
