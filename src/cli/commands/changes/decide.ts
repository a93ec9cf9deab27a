import { basename } from 'node:path';
import { z } from 'zod';
import { ExitCode, UsageError } from '../../../base/errors.js';
import type { Decision, Selection } from '../../../push/decide.js';
import { type Context, command } from '../../command.js';
import { text, toggle } from '../../flags.js';
import { print, printJson } from '../../output.js';
import { setUp } from '../../setup.js';
import { decisionsText } from '../../text/changes-text.js';
import { statuses } from './filters.js';

const selecting = {
  status: { type: 'array', string: true, requiresArg: true, describe: 'All changes with this status' },
  source: { type: 'string', requiresArg: true, describe: 'All changes of this file' },
  wait: { type: 'boolean', describe: 'Wait while another process holds the warehouse' },
} as const;

const selection = {
  ids: z.array(z.coerce.string()).optional(),
  status: statuses.optional(),
  source: text.optional(),
  wait: toggle.default(false),
};

const ids = { ids: { type: 'string', array: true, describe: 'Ids from `changes list`' } } as const;

export const cancel = command({
  name: 'cancel',
  usage: '[ids..]',
  summary: 'Cancel changes that are queued, in conflict or failed',
  positionals: ids,
  options: selecting,
  examples: [
    ['signalhouse changes cancel 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse changes cancel --source topics.xlsx', 'All open changes of a file'],
    ['signalhouse changes cancel --status conflict', 'Keep what colleagues set'],
  ],
  flags: z.object(selection),
  async run({ wait, ...given }, context) {
    const { cancelChanges } = await import('../../../app/changes.js');
    const decisions = await cancelChanges(await setUp(context), selectionOf(given), { wait });
    return report(decisions, 'cancelled', context);
  },
});

export const retry = command({
  name: 'retry',
  usage: '[ids..]',
  summary: 'Queue changes again that are in conflict or failed',
  positionals: ids,
  options: {
    ...selecting,
    overwrite: { type: 'boolean', describe: 'Overwrite what somebody else changed' },
    'follow-merges': {
      type: 'boolean',
      describe: 'If a topic was merged since then, change what it was merged into',
    },
  },
  examples: [
    ['signalhouse changes retry 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse changes retry --status conflict --overwrite', 'Overwrite what colleagues changed'],
    ['signalhouse changes retry --status failed --source topics.xlsx', 'The failed changes of a file'],
    ['signalhouse changes retry --status failed --follow-merges', 'Follow merges since the import'],
  ],
  flags: z.object({
    ...selection,
    overwrite: toggle.default(false),
    followMerges: toggle.default(false),
  }),
  async run({ wait, overwrite, followMerges, ...given }, context) {
    const options = { wait, overwrite, followMerges };
    const { retryChanges } = await import('../../../app/changes.js');
    const decisions = await retryChanges(await setUp(context), selectionOf(given), options);
    return report(decisions, 'queued again', context);
  },
});

function selectionOf(given: {
  readonly ids?: readonly string[] | undefined;
  readonly status?: Selection['filter']['status'];
  readonly source?: string | undefined;
}): Selection {
  const { ids = [], status, source } = given;
  const filtered = status !== undefined || source !== undefined;
  if (ids.length > 0 === filtered) {
    const problem = filtered
      ? 'cannot be combined with --status or --source'
      : 'are missing: pass ids, --status or --source';
    throw new UsageError('Cannot tell which changes to select.', [{ setting: 'ids', problem }]);
  }
  // A change stores the name of its file without the folder.
  return { ids, filter: { status, source: source === undefined ? undefined : basename(source) } };
}

function report(decisions: readonly Decision[], done: string, { json }: Context): ExitCode {
  if (json) printJson({ decisions });
  else print(decisionsText(decisions, done));
  return decisions.every((one) => one.done) ? ExitCode.done : ExitCode.incomplete;
}
