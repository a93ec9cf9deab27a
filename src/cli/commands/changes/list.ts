import { z } from 'zod';
import { ExitCode, UsageError } from '../../../base/errors.js';
import { command } from '../../command.js';
import { text, whole } from '../../flags.js';
import { print, printJson } from '../../output.js';
import { setUp } from '../../setup.js';
import { changesTable } from '../../text/changes-text.js';
import { since, statuses } from './filters.js';

export const list = command({
  name: 'list',
  summary: 'List queued and settled changes, newest first',
  options: {
    status: {
      type: 'array',
      string: true,
      requiresArg: true,
      describe: 'queued, sending, applied, unchanged, conflict, failed, superseded, cancelled',
    },
    topic: { type: 'string', requiresArg: true, describe: 'A topic id' },
    company: { type: 'string', requiresArg: true, describe: 'A company id' },
    source: { type: 'string', requiresArg: true, describe: 'The name of the file, SQL or standard input' },
    by: { type: 'string', requiresArg: true, describe: 'Who requested it' },
    since: { type: 'string', requiresArg: true, describe: 'Queued since, e.g. 2026-11-20, 7d or 36h' },
    limit: { type: 'number', requiresArg: true, describe: 'Maximum number of changes (default 50)' },
  },
  examples: [
    ['signalhouse changes list', 'The newest 50'],
    ['signalhouse changes list --status conflict,failed', 'Changes that need a decision'],
    ['signalhouse changes list --source topics.xlsx --json', 'Changes of one file, for a program'],
  ],
  flags: z.object({
    status: statuses.optional(),
    topic: text.optional(),
    company: text.optional(),
    source: text.optional(),
    by: text.optional(),
    since: since.optional(),
    limit: whole().default(50),
  }),
  async run({ limit, ...filter }, context) {
    if (filter.topic !== undefined && filter.company !== undefined) {
      const problem = 'cannot be combined with --topic: a change is about one or the other';
      throw new UsageError('Cannot tell which changes to list.', [{ setting: '--company', problem }]);
    }
    const { listChanges } = await import('../../../app/changes.js');
    const found = await listChanges(await setUp(context), filter, limit);
    if (context.json) printJson(found);
    else print(changesTable(found));
    return ExitCode.done;
  },
});
