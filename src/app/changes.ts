import { randomUUID } from 'node:crypto';
import { systemClock } from '../base/clock.js';
import { UsageError } from '../base/errors.js';
import type { Warehouse } from '../load/warehouse.js';
import type { Change } from '../push/change.js';
import { cancel, type Decision, type RetryOptions, retry, type Selection } from '../push/decide.js';
import { type EditSheet, type EditSheetOptions, writeEditSheet } from '../push/edit-sheet.js';
import {
  type ChangeAttempt,
  type ChangeFilter,
  matches,
  type TitledChange,
  withFacts,
} from '../push/facts.js';
import { mergedInto } from '../push/fields.js';
import { type ImportOptions, prepareImport } from '../push/import/import.js';
import { fromRecords, fromSheet, type ImportSource } from '../push/import/source.js';
import { type MergeReport, type MergeRequest, newMerge, type Pair, readPair } from '../push/merges.js';
import { type Plan, type PlanParts, type PlanReport, reportOf } from '../push/plan.js';
import { type Preview, Previews } from '../push/previews.js';
import { Queue, readQueue } from '../push/queue.js';
import { queueChanges } from '../push/queueing.js';
import { runPush } from '../push/run.js';
import { storedEntitiesOf } from '../push/stored.js';
import { prepareUndo, type UndoOptions, undoneBy } from '../push/undo.js';
import type { Snapshot } from '../read/query.js';
import type { Intake } from '../serve/http/writes.js';
import { readSheet, type SheetOptions } from '../sheet/read.js';
import { writeGrid } from '../sheet/write.js';
import { sqlFile } from '../store/sql.js';
import { recordExport, refuseUnrecorded } from './audit.js';
import type { Access, Setup } from './setup.js';
import { withFullSnapshot, withSnapshotIfAny } from './snapshot.js';
import {
  type ObservedOptions,
  refuseWithoutWarehouse,
  type WorkerOptions,
  withWarehouse,
  withWorker,
} from './worker.js';

/**
 * `signalhouse changes`, and everything else that adds changes to the queue: a preview is made without the warehouse, shown, and
 * confirmed by its id, which queues exactly what it shows.
 */

/** Where the rows of an import come from. */
export type ImportFrom =
  | (Parameters<typeof fromSheet>[0] & SheetOptions)
  /** Rows that have been read already. */
  | { readonly source: ImportSource };

export interface QueueOptions extends WorkerOptions {
  /** False leaves publishing to somebody else: until then, the journal has what was queued. */
  readonly publish?: boolean;
}

export function previewsOf({ config, clock = systemClock }: Setup): Previews {
  return new Previews(config.dataDir, clock);
}

/** Makes a plan of what the published file and the queue have now. */
export function planned(setup: Setup, prepare: (parts: PlanParts) => Promise<Plan>): Promise<Plan> {
  const { config, log } = setup;
  refuseWithoutWarehouse(config.dataDir);
  return withFullSnapshot(setup, async (store) => {
    const all = await readQueue(store, config, log);
    return prepare({ store, queue: { all: () => all }, settings: config });
  });
}

/** Sees a plan and decides. */
export type ConfirmPlan = (plan: Plan) => Promise<boolean>;

interface PlanOptions extends WorkerOptions {
  readonly dryRun: boolean;
}

/** `signalhouse changes import`. Without `confirm`, the import goes ahead. */
export async function importChanges(
  setup: Setup,
  from: ImportFrom,
  options: ImportOptions & PlanOptions,
  confirm?: ConfirmPlan,
): Promise<PlanReport> {
  const source = 'source' in from ? from.source : await fromSheet(from, { sheet: from.sheet });
  const plan = await planned(setup, (parts) => prepareImport(parts, source, options));
  return afterPreview(setup, plan, options, confirm, source);
}

/** `signalhouse changes undo`. Without `confirm`, the undo goes ahead. */
export async function undoChanges(
  setup: Setup,
  names: readonly string[],
  options: UndoOptions & PlanOptions,
  confirm?: ConfirmPlan,
): Promise<PlanReport> {
  const plan = await planned(setup, (parts) => prepareUndo(parts, names, options));
  return afterPreview(setup, plan, options, confirm);
}

/** Stores the preview of a plan, has it confirmed, and queues exactly what it shows. */
async function afterPreview(
  setup: Setup,
  plan: Plan,
  options: PlanOptions,
  confirm?: ConfirmPlan,
  source?: ImportSource,
): Promise<PlanReport> {
  if (options.dryRun) return reportOf(plan, 'dry_run');
  const previews = previewsOf(setup);
  const preview = previews.add(plan, source);
  if (plan.changes.length === 0) {
    previews.set(preview.id, { state: 'done' });
    return reportOf(plan, 'nothing');
  }
  if (confirm && !(await confirm(plan))) {
    previews.set(preview.id, { state: 'cancelled' });
    return reportOf(plan, 'declined');
  }
  return confirmPreview(setup, preview, options);
}

/** Queues exactly what a preview shows. */
export function confirmPreview(setup: Setup, preview: Preview, options: QueueOptions): Promise<PlanReport> {
  return changeQueue(setup, options, async (queue) => previewsOf(setup).confirm(queue, preview));
}

export function cancelChanges(
  setup: Setup,
  selection: Selection,
  options: QueueOptions,
): Promise<Decision[]> {
  return changeQueue(setup, options, async (queue) => cancel(queue, selection));
}

export function retryChanges(
  setup: Setup,
  selection: Selection,
  options: QueueOptions & RetryOptions,
): Promise<Decision[]> {
  return changeQueue(setup, options, async (queue, warehouse) => {
    const storedOf = await storedEntitiesOf(warehouse, queue.withStatus('failed', 'conflict'));
    return retry(queue, selection, options, storedOf);
  });
}

/** Work on the queue that makes no requests; the published file has its changes afterwards. */
function changeQueue<T>(
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

/** `signalhouse changes list`: the newest `limit` changes that match, and how many there are. Takes no lock. */
export async function listChanges(setup: Setup, filter: ChangeFilter, limit: number) {
  return withSnapshotIfAny(setup, async (snapshot) => {
    const all = await readQueue(snapshot, setup.config, setup.log);
    const found = all.filter((change) => matches(change, filter)).reverse();
    return { total: found.length, changes: await titled(snapshot, all, found.slice(0, limit)) };
  });
}

/** `signalhouse changes show`: a change with its requests; null when there is none with that id. */
export async function showChange(
  setup: Setup,
  id: string,
): Promise<(TitledChange & { readonly attempted: readonly ChangeAttempt[] }) | null> {
  return withSnapshotIfAny(setup, async (snapshot) => {
    const all = await readQueue(snapshot, setup.config, setup.log);
    const found = all.filter((change) => change.id === id);
    const [change] = await titled(snapshot, all, found);
    if (!change) return null;
    // As far as the snapshot has them.
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

/** `signalhouse changes sheet`. `by` is who asked for it: the user of the operating system, unless somebody is named. */
export async function makeSheet(setup: Setup, options: EditSheetOptions, by?: string): Promise<EditSheet> {
  refuseUnrecorded(setup);
  const sheet = await withFullSnapshot(setup, (snapshot) => writeEditSheet(snapshot, options));
  const { entityType, path: file, rows } = sheet;
  const tables = [entityType === 'topic' ? 'topics' : 'companies'];
  recordExport(setup, { tables, format: 'sheet', rows, file }, by);
  return sheet;
}

/** The source of changes that come over HTTP, in messages and in the queue. */
const overHttp = 'HTTP';

/**
 * `POST /changes`: the rules of `changes import`, under the same lock. Rows of JSON are numbered from 1, rows of CSV as in
 * a spreadsheet program. `exclusively` runs work while no job runs, and rejects when one does.
 */
export function intakeOf(
  setup: Setup,
  exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>,
): Intake {
  return async (sheet, by) => {
    const options = { requestedBy: by, dryRun: false };
    const from: ImportFrom =
      sheet.kind === 'csv'
        ? { bytes: sheet.bytes, name: overHttp }
        : // Read before anything is locked: rows that make no sense block nobody.
          { source: fromRecords(sheet.rows, overHttp) };
    return exclusively('an import', async () => {
      const { queued, problems, rows } = await importChanges(setup, from, options);
      const conflicts = rows.flatMap(({ row, outcome, text: problem }) =>
        outcome === 'conflict' ? [{ row, column: null, value: null, problem }] : [],
      );
      return { queued: queued.length, problems: [...problems, ...conflicts] };
    });
  };
}

/**
 * Edits a sheet of `changes sheet` for the demo: sets the priority of the first `count` topics that have another one to
 * `to`, and saves the file. Returns the edits.
 */
export async function raisePriorities(path: string, count: number, to: string) {
  const grid = await readSheet({ path });
  const column = (name: string) => grid.columns.indexOf(name);
  const edits: { readonly title: string; readonly from: string; readonly to: string }[] = [];
  const rows = grid.rows.map((row) => {
    const from = String(row.cells[column('priority')] ?? '');
    if (edits.length === count || from === to) return row;
    edits.push({ title: String(row.cells[column('title')] ?? ''), from, to });
    return { ...row, cells: row.cells.map((cell, at) => (at === column('priority') ? to : cell)) };
  });
  await writeGrid(path, { ...grid, rows }, { overwrite: true });
  return edits;
}

/** Asks for the second confirmation: the id of the person who stays. Returns what was typed. */
export type ConfirmMerge = (pair: Pair) => Promise<string>;

/**
 * `signalhouse changes merge-people`: reads the pair from the published file, shows it with `show`, and after `confirm` queues the
 * merge and sends it at once. Without `confirm` it was confirmed on the command line. One that waits or is in doubt is sent instead.
 */
export async function mergePeople(
  access: Access,
  [source, target]: readonly [source: string, target: string],
  options: MergeRequest & ObservedOptions,
  show: (pair: Pair) => void,
  confirm?: ConfirmMerge,
): Promise<MergeReport> {
  const pair = await withFullSnapshot(access, (snapshot) => readPair(snapshot, source, target));
  show(pair);
  const nothing = { ...pair, id: null, error: null };
  if (options.dryRun) return { ...nothing, outcome: 'dry_run', exitCode: 0 };
  if (confirm && (await confirm(pair)).trim() !== target)
    return { ...nothing, outcome: 'declined', exitCode: 3 };
  return withWorker(access, options, async (parts, display) => {
    const { warehouse, config, clock, log } = parts;
    const queue = await Queue.open(warehouse, config, clock, log);
    const merge = newMerge(pair, options, randomUUID());
    refuseBesideOpenMerge(queue, merge);
    const { became } = queueChanges(queue, [merge]);
    const id = became[0]?.changeId ?? '';
    await runPush({ ...parts, queue, only: (change) => change.id === id }, options, display);
    const { status, error } = queue.get(id) as Change;
    const outcomes = { applied: 'merged', unchanged: 'already_merged', failed: 'failed', conflict: 'failed' };
    const outcome = (outcomes as Partial<Record<string, MergeReport['outcome']>>)[status] ?? 'waiting';
    const isDone = status === 'applied' || status === 'unchanged';
    return { ...pair, id, outcome, error, exitCode: isDone ? 0 : 3 };
  });
}

/** Throws where one of the two is in another merge that waits or is in doubt. */
function refuseBesideOpenMerge(
  queue: Queue,
  { entityId, wanted }: Pick<Change, 'entityId' | 'wanted'>,
): void {
  const ids = [entityId, wanted[mergedInto]];
  const other = queue
    .withStatus('queued', 'sending')
    .filter(({ entityType }) => entityType === 'person')
    .find(
      (one) =>
        ids.some((id) => id === one.wanted[mergedInto] || id === one.entityId) && one.entityId !== entityId,
    );
  if (!other) return;
  const problem = `change ${other.id} merges one of them and is still open: run signalhouse push first`;
  throw new UsageError('These people cannot be merged now.', [{ setting: '--into', problem }]);
}
