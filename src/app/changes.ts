import { systemClock } from '../base/clock.js';
import { UsageError } from '../base/errors.js';
import type { Change } from '../push/change.js';
import { cancel, type Decision, type RetryOptions, retry, type Selection } from '../push/decide.js';
import { type DuplicatesSheetOptions, writeDuplicatesSheet } from '../push/duplicates-sheet.js';
import { type EditSheet, type EditSheetOptions, writeEditSheet } from '../push/edit-sheet.js';
import {
  type ChangeAttempt,
  type ChangeFilter,
  matches,
  type TitledChange,
  withFacts,
} from '../push/facts.js';
import {
  enqueue,
  type ImportOptions,
  type PreparedImport,
  prepareImport,
  reportWithoutQueueing,
} from '../push/import/import.js';
import type { ImportReport } from '../push/import/preview.js';
import { fromRecords, fromSheet, fromSql, type ImportSource, saveImportCopy } from '../push/import/source.js';
import { MergeJournal, type PeopleMerge } from '../push/merge-journal.js';
import {
  areNamedAlike,
  isConfirmation,
  type MergeReport,
  type MergeRequest,
  mergePeople as merge,
  type Pair,
  readPair,
} from '../push/merge-people.js';
import { Queue, readQueue } from '../push/queue.js';
import { storedEntitiesOf } from '../push/stored.js';
import {
  enqueueUndo,
  type PreparedUndo,
  prepareUndo,
  reportOf,
  type UndoOptions,
  type UndoReport,
  undoneBy,
} from '../push/undo.js';
import type { Intake } from '../serve/http/writes.js';
import { readSheet, type SheetOptions } from '../sheet/read.js';
import { writeGrid } from '../sheet/write.js';
import type { Snapshot } from '../warehouse/read/query.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import { recordExport, recordMerges } from './audit.js';
import type { Access, Setup } from './setup.js';
import { withFullSnapshot, withSnapshotIfAny } from './snapshot.js';
import { type ObservedOptions, type WorkerOptions, withWarehouse, withWorker } from './worker.js';

/** `signalhouse changes`, and everything else that adds changes to the queue. */

/** Where the rows of an import come from. */
export type ImportFrom =
  | (Parameters<typeof fromSheet>[0] & SheetOptions)
  /** Rows that have been read already. */
  | { readonly source: ImportSource }
  | { readonly sql: string };

/**
 * `signalhouse changes import`: `confirm` sees what would happen and decides, while the warehouse is locked. Without
 * `confirm`, the import goes ahead.
 */
export async function importChanges(
  setup: Setup,
  from: ImportFrom,
  options: ImportOptions & WorkerOptions & { readonly dryRun: boolean },
  confirm?: (prepared: PreparedImport) => Promise<boolean>,
): Promise<ImportReport> {
  // Read before the lock is taken: a file that cannot be read blocks nobody.
  const source =
    'sql' in from
      ? await withFullSnapshot(setup, (snapshot) => fromSql(snapshot, from.sql))
      : 'source' in from
        ? from.source
        : await fromSheet(from, { sheet: from.sheet });
  return changeQueue(setup, options, async (queue, warehouse) => {
    const parts = { store: warehouse, queue, settings: setup.config };
    const prepared = await prepareImport(parts, source, options);
    if (options.dryRun) return reportWithoutQueueing(prepared, 'dry_run');
    if (prepared.newChanges.length > 0 && confirm && !(await confirm(prepared)))
      return reportWithoutQueueing(prepared, 'declined');
    const report = enqueue(queue, prepared);
    saveImportCopy(setup.config, source, report);
    return report;
  });
}

export function cancelChanges(
  setup: Setup,
  selection: Selection,
  options: WorkerOptions,
): Promise<Decision[]> {
  return changeQueue(setup, options, async (queue) => cancel(queue, selection));
}

export function retryChanges(
  setup: Setup,
  selection: Selection,
  options: WorkerOptions & RetryOptions,
): Promise<Decision[]> {
  return changeQueue(setup, options, async (queue, warehouse) => {
    const storedOf = await storedEntitiesOf(warehouse, queue.withStatus('failed', 'conflict'));
    return retry(queue, selection, options, storedOf);
  });
}

/**
 * `signalhouse changes undo`: `confirm` sees what would happen and decides, while the warehouse is locked. Without
 * `confirm`, the undo goes ahead.
 */
export function undoChanges(
  setup: Setup,
  names: readonly string[],
  options: WorkerOptions & UndoOptions & { readonly dryRun: boolean },
  confirm?: (prepared: PreparedUndo) => Promise<boolean>,
): Promise<UndoReport> {
  refuseMerges(setup, names, 'Cannot undo this.');
  return changeQueue(setup, options, async (queue, warehouse) => {
    const parts = { store: warehouse, queue, settings: setup.config };
    const prepared = await prepareUndo(parts, names, options);
    if (options.dryRun) return reportOf(prepared, 'dry_run');
    if (prepared.newChanges.length > 0 && confirm && !(await confirm(prepared)))
      return reportOf(prepared, 'declined');
    return enqueueUndo(queue, prepared);
  });
}

/** Work on the queue that makes no requests; the published file has its changes afterwards. */
function changeQueue<T>(
  setup: Setup,
  options: WorkerOptions,
  work: (queue: Queue, warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const { config, log, clock = systemClock } = setup;
  return withWarehouse(setup, options, async (warehouse) => {
    const queue = await Queue.open(warehouse, config, clock, log);
    const result = await work(queue, warehouse);
    const hasChanged = await queue.flush();
    if (hasChanged) {
      await warehouse.publish();
      queue.compact();
    }
    return result;
  });
}

/** A merge of people is no change of the queue: nothing takes it back. */
function refuseMerges({ config }: Setup, names: readonly string[], message: string): void {
  const merges = new MergeJournal(config)
    .all()
    .filter(({ id, sourceId }) => [id, sourceId].some((one) => names.includes(one)));
  if (merges.length === 0) return;
  const problems = merges.map(({ id, sourceId, targetId, status }) => {
    const what = `the merge of person ${sourceId} into ${targetId} (${status})`;
    return { setting: id, problem: `is ${what}: merging people cannot be undone` };
  });
  throw new UsageError(message, problems, { hint: 'signalhouse changes list shows every merge of people.' });
}

export type ListedChanges = Awaited<ReturnType<typeof listChanges>>;

/**
 * `signalhouse changes list`: the newest `limit` changes that match, and how many there are; and every merge of people, newest
 * first, none where the filter is about topics, companies or files. Takes no lock.
 */
export async function listChanges(setup: Setup, filter: ChangeFilter, limit: number) {
  return withSnapshotIfAny(setup, async (snapshot) => {
    const all = await readQueue(snapshot, setup.config, setup.log);
    const found = all.filter((change) => matches(change, filter)).reverse();
    const changes = await titled(snapshot, all, found.slice(0, limit));
    return { total: found.length, changes, merges: mergesFor(setup, filter) };
  });
}

function mergesFor({ config }: Setup, filter: ChangeFilter): PeopleMerge[] {
  const { status, topic, company, source, by, since } = filter;
  if ([status, topic, company, source].some((one) => one !== undefined)) return [];
  const merges = new MergeJournal(config).all().filter(({ requestedBy, firstSentAt }) => {
    return (
      (by === undefined || by === requestedBy) &&
      (since === undefined || Date.parse(firstSentAt) >= since.getTime())
    );
  });
  return merges.reverse();
}

/** `signalhouse changes show`: a change with its requests; null when there is none with that id. */
export async function showChange(
  setup: Setup,
  id: string,
): Promise<(TitledChange & { readonly attempted: readonly ChangeAttempt[] }) | null> {
  refuseMerges(setup, [id], 'Only changes of topics and companies are shown.');
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
export async function makeSheet(
  setup: Setup,
  options: EditSheetOptions | DuplicatesSheetOptions,
  by?: string,
): Promise<EditSheet> {
  const sheet = await withFullSnapshot(setup, (snapshot) =>
    'entityType' in options ? writeEditSheet(snapshot, options) : writeDuplicatesSheet(snapshot, options),
  );
  const { entityType, path: file, rows } = sheet;
  const tables = [entityType === 'topic' ? 'topics' : 'companies'];
  recordExport(setup, { tables, format: 'sheet', rows, file }, by);
  return sheet;
}

/** The source of changes that come over HTTP, in messages and in the queue. */
const overHttp = 'HTTP';

const howToFollow = 'send the same with POST /changes?followMerges=true';

/**
 * `POST /changes`: the rules of `changes import`, under the same lock. Rows of JSON are numbered from 1, rows of CSV as in
 * a spreadsheet program. `exclusively` runs work while no job runs, and rejects when one does.
 */
export function intakeOf(
  setup: Setup,
  exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>,
): Intake {
  return async (sheet, by, followMerges) => {
    const options = { requestedBy: by, dryRun: false, followMerges, howToFollow, exactTitles: true };
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

/** Asks for the second confirmation; `isAgain` says that it was sent before without an answer. Returns what was typed. */
export type ConfirmMerge = (
  pair: Pair,
  asked: { readonly isAgain: boolean; readonly isNameEnough: boolean },
) => Promise<string>;

/**
 * `signalhouse changes merge-people`: reads the pair from the published file, shows it with `show`, and merges it after
 * `confirm`. Without `confirm` it was confirmed on the command line. The record of it is in ops.audit when this returns.
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
  return withWorker(access, options, async ({ api, clock, warehouse, config }) => {
    const journal = new MergeJournal(config);
    const stop = options.stop ?? new AbortController().signal;
    const settledBefore = settledIn(journal);
    try {
      const isNameEnough = !areNamedAlike(pair.source, pair.target);
      const ask =
        confirm &&
        (async (isAgain: boolean) => isConfirmation(await confirm(pair, { isAgain, isNameEnough }), pair));
      return await merge({ api, clock, stop, journal }, pair, options, ask);
    } finally {
      if (settledIn(journal) !== settledBefore) {
        await recordMerges(warehouse, config);
        await warehouse.publish();
      }
    }
  });
}

function settledIn(journal: MergeJournal): number {
  return journal.all().filter(({ status }) => status !== 'sending').length;
}
