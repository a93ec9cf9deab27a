import { basename } from 'node:path';
import { z } from 'zod';
import { ExitCode, UsageError } from '../../base/errors.js';
import type { Status } from '../../push/change.js';
import type { Decision, Selection } from '../../push/decide.js';
import { changesView, changeView, decidedView } from '../../view/changes.js';
import { viewText } from '../../view/text.js';
import { type Context, command, type Group, names, text, toggle, wait, whole, words } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';
import { importChanges, undo } from './changes-import.js';
import { mergePeople } from './changes-merge-people.js';
import { sheet } from './changes-sheet.js';

/** The states of a change; a missing one does not compile. */
const all: Readonly<Record<Status, true>> = {
  queued: true,
  sending: true,
  applied: true,
  unchanged: true,
  conflict: true,
  failed: true,
  superseded: true,
  cancelled: true,
};
const allStatuses = Object.keys(all) as Status[];

/** States by name, as `a,b` or by repeating the flag. */
const statuses = names
  .pipe(z.array(z.enum(allStatuses, `must be one of ${allStatuses.join(', ')}`)))
  .optional();

const list = command({
  name: 'list',
  summary: 'List queued and settled changes, newest first',
  examples: [
    ['signalhouse changes list', 'The newest 50'],
    ['signalhouse changes list --status conflict,failed', 'What needs a decision'],
    ['signalhouse changes list --source topics.xlsx --json', 'Of one file'],
  ],
  flags: {
    status: statuses.describe(allStatuses.join(', ')),
    source: text.optional().describe('The name of the file, or standard input'),
    limit: whole().default(50).describe('Maximum number of changes (default 50)'),
  },
  async run({ limit, ...filter }, context) {
    const { listChanges } = await import('../../app/changes.js');
    return answer(context, await listChanges(await setUp(context), filter, limit), (listed) =>
      viewText(changesView(listed), Date.now()),
    );
  },
});

const show = command({
  name: 'show',
  usage: '<id>',
  summary: 'Show one change with every request that was made for it',
  examples: [
    ['signalhouse changes show 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse changes show 20261120101500123-000001-ab12 --json', 'For a program'],
  ],
  flags: { id: text.describe('The id from `changes list`') },
  async run({ id }, context) {
    const { showChange } = await import('../../app/changes.js');
    const change = await showChange(await setUp(context), id);
    if (change) return answer(context, change, (one) => viewText(changeView(one), Date.now()));
    const hint = 'signalhouse changes list shows the ids.';
    throw new UsageError(`There is no change ${id}.`, [], { hint });
  },
});

const selection = {
  ids: words.optional().describe('Ids from `changes list`'),
  status: statuses.describe('All changes with this status'),
  source: text.optional().describe('All changes of this file'),
  wait,
};
type Selected = Omit<z.output<z.ZodObject<typeof selection>>, 'wait'>;

const cancel = command({
  name: 'cancel',
  usage: '[ids..]',
  summary: 'Cancel changes that are queued, in conflict or failed',
  examples: [
    ['signalhouse changes cancel 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse changes cancel --source topics.xlsx', 'All open changes of a file'],
    ['signalhouse changes cancel --status conflict', 'Keep what colleagues set'],
  ],
  flags: selection,
  async run({ wait, ...given }, context) {
    const { cancelChanges } = await import('../../app/changes.js');
    const decisions = await cancelChanges(await setUp(context), selectionOf(given), { wait });
    return decided(decisions, 'cancelled', context);
  },
});

const retry = command({
  name: 'retry',
  usage: '[ids..]',
  summary: 'Queue changes again that are in conflict or failed',
  examples: [
    ['signalhouse changes retry 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse changes retry --status conflict --overwrite', 'Replace their value'],
    ['signalhouse changes retry --status failed --source topics.xlsx', 'Of one file'],
  ],
  flags: {
    ...selection,
    overwrite: toggle.describe('Overwrite what somebody else changed'),
  },
  async run({ wait, overwrite, ...given }, context) {
    const options = { wait, overwrite };
    const { retryChanges } = await import('../../app/changes.js');
    const decisions = await retryChanges(await setUp(context), selectionOf(given), options);
    return decided(decisions, 'queued again', context);
  },
});

function selectionOf({ ids = [], status, source }: Selected): Selection {
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

function decided(decisions: readonly Decision[], done: string, context: Context): ExitCode {
  const exitCode = decisions.every((one) => one.done) ? ExitCode.done : ExitCode.incomplete;
  return answer(context, { decisions }, () => viewText(decidedView(decisions, done), Date.now()), exitCode);
}

export const changes: Group = {
  name: 'changes',
  summary: 'Re-prioritize in a spreadsheet: write it, import it, see the queue',
  commands: [sheet, importChanges, list, show, cancel, retry, undo, mergePeople],
  examples: [
    ['signalhouse changes sheet --out topics.xlsx', 'A sheet to edit'],
    ['signalhouse changes import topics.xlsx', 'Queue the edits'],
    ['signalhouse push', 'Send them'],
    ['signalhouse changes undo topics.xlsx', 'Queue the reverse'],
  ],
};
