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
  summary: 'What is queued, and what became of what was; the youngest first',
  options: {
    status: {
      type: 'array',
      string: true,
      requiresArg: true,
      describe: 'queued, sending, applied, unchanged, conflict, failed, superseded, cancelled',
    },
    topic: { type: 'string', requiresArg: true, describe: 'The id of a topic' },
    company: { type: 'string', requiresArg: true, describe: 'The id of a company' },
    source: { type: 'string', requiresArg: true, describe: 'The name of the file, SQL or standard input' },
    by: { type: 'string', requiresArg: true, describe: 'Who wanted it' },
    since: { type: 'string', requiresArg: true, describe: 'Queued since, e.g. 2026-11-20, 7d or 36h' },
    limit: { type: 'number', requiresArg: true, describe: 'Changes at most (default 50)' },
  },
  examples: [
    ['signalhouse changes list', 'The youngest 50'],
    ['signalhouse changes list --status conflict,failed', 'What waits for a decision'],
    ['signalhouse changes list --source topics.xlsx --json', 'Of one file, for a program'],
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
      const problem = 'and --topic: a change is about one of them';
      throw new UsageError('Nothing can be about both.', [{ setting: '--company', problem }]);
    }
    const { listChanges } = await import('../../../app/changes.js');
    const found = await listChanges(setUp(context), filter, limit);
    if (context.json) printJson(found);
    else print(changesTable(found));
    return ExitCode.done;
  },
});
