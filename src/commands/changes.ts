import { basename } from 'node:path';
import { z } from 'zod';
import { systemClock } from '../base/clock.js';
import { ExitCode, UsageError } from '../base/errors.js';
import type { Warehouse } from '../load/warehouse.js';
import type { Change, Status } from '../push/change.js';
import * as decide from '../push/decide.js';
import {
  type ChangeAttempt,
  type ChangeFilter,
  matches,
  type TitledChange,
  withFacts,
} from '../push/facts.js';
import { Queue, readQueue } from '../push/queue.js';
import { storedEntitiesOf } from '../push/stored.js';
import { undoneBy } from '../push/undo.js';
import type { Snapshot } from '../read/query.js';
import { withSnapshotIfAny } from '../read/snapshot.js';
import { sqlFile } from '../store/sql.js';
import { changesView, changeView, decidedView } from '../view/changes.js';
import { command, names, text, toggle, wait, whole, words } from './command.js';
import { type Setup, setUp } from './setup.js';
import { type WorkerOptions, withWarehouse } from './worker.js';

/** The queue of changes: its content, and decisions about changes that failed or are in conflict. */

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

export const list = command({
  examples: [
    ['signalhouse changes list', 'The newest 50'],
    ['signalhouse changes list --status conflict,failed', 'What needs a decision'],
    ['signalhouse changes list --source topics.xlsx --json', 'Of one file'],
  ],
  input: {
    status: statuses.describe(allStatuses.join(', ')),
    source: text.optional().describe('The name of the file, or standard input'),
    limit: whole().default(50).describe('Maximum number of changes (default 50)'),
  },
  run: async ({ limit, ...filter }, context) => listChanges(await setUp(context), filter, limit),
  show: changesView,
});

export const show = command({
  usage: '<id>',
  examples: [
    ['signalhouse changes show 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse changes show 20261120101500123-000001-ab12 --json', 'For a program'],
  ],
  input: { id: text.describe('The id from `changes list`') },
  run: async ({ id }, context) => changeWithRequests(await setUp(context), id),
  show: changeView,
});

const selection = {
  ids: words.optional().describe('Ids from `changes list`'),
  status: statuses.describe('All changes with this status'),
  source: text.optional().describe('All changes of this file'),
  wait,
};
type Selected = Omit<z.output<z.ZodObject<typeof selection>>, 'wait'>;

export const cancel = command({
  usage: '[ids..]',
  examples: [
    ['signalhouse changes cancel 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse changes cancel --source topics.xlsx', 'All open changes of a file'],
    ['signalhouse changes cancel --status conflict', 'Keep what colleagues set'],
  ],
  input: selection,
  async run({ wait, ...given }, context) {
    return { decisions: await cancelChanges(await setUp(context), selectionOf(given), { wait }) };
  },
  show: ({ decisions }) => decidedView(decisions, 'cancelled'),
  exitCode: decidedExitCode,
});

export const retry = command({
  usage: '[ids..]',
  examples: [
    ['signalhouse changes retry 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse changes retry --status conflict --overwrite', 'Replace their value'],
    ['signalhouse changes retry --status failed --source topics.xlsx', 'Of one file'],
  ],
  input: {
    ...selection,
    overwrite: toggle.describe('Overwrite what colleagues changed'),
  },
  async run({ wait, overwrite, ...given }, context) {
    const selection = selectionOf(given);
    return { decisions: await retryChanges(await setUp(context), selection, { wait, overwrite }) };
  },
  show: ({ decisions }) => decidedView(decisions, 'queued again'),
  exitCode: decidedExitCode,
});

function selectionOf({ ids = [], status, source }: Selected): decide.Selection {
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

function decidedExitCode({ decisions }: { readonly decisions: readonly decide.Decision[] }): ExitCode {
  return decisions.every(({ done }) => done) ? ExitCode.done : ExitCode.incomplete;
}

export interface QueueOptions extends WorkerOptions {
  /** False leaves publishing to a later run: until then, the queued changes are in the journal. */
  readonly publish?: boolean;
}

export function cancelChanges(
  setup: Setup,
  selection: decide.Selection,
  options: QueueOptions,
): Promise<decide.Decision[]> {
  return changeQueue(setup, options, async (queue) => decide.cancel(queue, selection));
}

export function retryChanges(
  setup: Setup,
  selection: decide.Selection,
  options: QueueOptions & decide.RetryOptions,
): Promise<decide.Decision[]> {
  return changeQueue(setup, options, async (queue, warehouse) => {
    const storedOf = await storedEntitiesOf(warehouse, queue.withStatus('failed', 'conflict'));
    return decide.retry(queue, selection, options, storedOf);
  });
}

/** Work on the queue that makes no requests; the published file has its changes afterwards. */
export function changeQueue<T>(
  setup: Setup,
  options: QueueOptions,
  work: (queue: Queue, warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const { config, log, clock = systemClock } = setup;
  return withWarehouse(setup, options, async (warehouse) => {
    const queue = await Queue.open(warehouse, config, clock, log);
    const result = await work(queue, warehouse);
    const hasChanged = await queue.flush();
    if (hasChanged && options.publish !== false) {
      await warehouse.publish();
      queue.compact();
    }
    return result;
  });
}

export type ListedChanges = Awaited<ReturnType<typeof listChanges>>;

/** The newest `limit` changes that match, and how many there are. Takes no lock. */
async function listChanges(setup: Setup, filter: ChangeFilter, limit: number) {
  return withSnapshotIfAny(setup, async (snapshot) => {
    const all = await readQueue(snapshot, setup.config, setup.log);
    const found = all.filter((change) => matches(change, filter)).reverse();
    return { total: found.length, changes: await titled(snapshot, all, found.slice(0, limit)) };
  });
}

/** A change with its requests, as far as the snapshot has them. Throws UsageError when there is none with that id. */
async function changeWithRequests(
  setup: Setup,
  id: string,
): Promise<TitledChange & { readonly attempted: readonly ChangeAttempt[] }> {
  return withSnapshotIfAny(setup, async (snapshot) => {
    const all = await readQueue(snapshot, setup.config, setup.log);
    const found = all.filter((change) => change.id === id);
    const [change] = await titled(snapshot, all, found);
    if (!change)
      throw new UsageError(`There is no change ${id}.`, [], {
        hint: 'signalhouse changes list shows the ids.',
      });
    const attempted = await snapshot?.all<ChangeAttempt>(sqlFile('push/attempts'), { change_id: id });
    return { ...change, attempted: attempted ?? [] };
  });
}

async function titled(
  snapshot: Snapshot | null,
  all: readonly Change[],
  found: readonly Change[],
): Promise<TitledChange[]> {
  const undo = undoneBy(all);
  return (await withFacts(snapshot, found)).map((change) => ({ ...change, undoneBy: undo(change.id) }));
}
