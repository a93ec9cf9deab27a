import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { extname, join, parse } from 'node:path';
import { makeFolder } from '../base/atomic-file.js';
import { iso, systemClock } from '../base/clock.js';
import { StoppedError, sentencesOf, UsageError } from '../base/errors.js';
import { countBy, groupBy } from '../base/group-by.js';
import { oneAtATime } from '../base/one-at-a-time.js';
import { valueText } from '../base/units.js';
import type { Change } from '../push/change.js';
import { withFacts } from '../push/facts.js';
import { type ImportOptions, prepareImport } from '../push/import/import.js';
import type { ImportProblem, ImportRow, PreviewChange } from '../push/import/preview.js';
import { hasImportCopy, readImportCopy } from '../push/import/source.js';
import { readQueue } from '../push/queue.js';
import { plainSheets, writeResults } from '../push/result.js';
import { prepareUndo, type UndoReport, undoneBy } from '../push/undo.js';
import { type Upload, Uploads } from '../push/uploads.js';
import type { SheetFile, Sheets } from '../serve/http/sheets.js';
import type { LeftOut, SheetChange, SheetDetails, SheetFilter, SheetLine } from '../serve/page/sheets.js';
import type { Scheduler } from '../serve/schedule/scheduler.js';
import { literal } from '../warehouse/sql.js';
import { cancelChanges, importChanges, makeSheet, retryChanges, undoChanges } from './changes.js';
import type { Setup } from './setup.js';
import { snapshotVersion, withFullSnapshot, withSnapshotIfAny } from './snapshot.js';

/** The page for sheets: previews without the lock, and imports and undos that are carried out once they are confirmed. */

/** How many sheets the history lists. */
const mostLines = 100;

/** After an import that failed for another reason than its file, such as a full disk. */
const retryMs = 60_000;

/**
 * Everything that the page for sheets can do. Carries out at once what was confirmed before the last process ended. `stop` ends
 * waiting; what was confirmed is carried out after the next start.
 */
export function sheetsOf(
  setup: Setup,
  schedule: Pick<Scheduler, 'exclusively' | 'ask'>,
  stop: AbortSignal,
): Sheets {
  const { config, log, clock = systemClock } = setup;
  const uploads = new Uploads(config, clock);
  // A preview takes the memory of an import.
  const inTurn = oneAtATime();

  /** Queues what was confirmed, as soon as nothing else holds the warehouse, and asks for a push. Never rejects. */
  async function carryOut(upload: Upload): Promise<void> {
    const { id, name, by } = upload;
    while (!stop.aborted) {
      try {
        await schedule.exclusively(
          `the import of ${name}`,
          async () => {
            uploads.set(id, { ...(await queued(upload)), state: 'done', problem: null });
          },
          { wait: true },
        );
        return askForPush();
      } catch (error) {
        if (stop.aborted || error instanceof StoppedError) return;
        log.error({ err: error, upload: id }, `${name} of ${by} was confirmed and cannot be queued`);
        try {
          if (error instanceof UsageError)
            return uploads.set(id, { state: 'failed', problem: sentencesOf(error) });
          uploads.set(id, { problem: sentencesOf(error) });
        } catch {
          // The disk that cannot store the reason: it is in the log.
        }
        await clock.sleep(retryMs, stop).catch(() => undefined);
      }
    }
  }

  function askForPush(): void {
    const push = config.serve.jobs.find(({ run }) => run === 'push');
    if (push) void schedule.ask(push.name);
  }

  /** Queues the changes of a sheet or an undo, and returns what was left out. After a kill in the middle, none is queued twice. */
  async function queued(upload: Upload): Promise<Pick<Upload, 'leftOut' | 'leftOutCount'>> {
    const options = { requestedBy: upload.by, importId: upload.id, dryRun: false, wait: true, stop };
    const before = new Set((await queue()).flatMap((one) => (one.importId === upload.id ? [one.id] : [])));
    if (upload.undoes !== null) {
      if (before.size > 0) return { leftOut: [], leftOutCount: 0 };
      const leftOut = undoLeftOut(await undoChanges(setup, [upload.undoes], options));
      return { leftOut, leftOutCount: leftOut.length };
    }
    const source = await uploads.source(upload);
    const report = await importChanges(setup, { source }, { ...options, ...importOptions(upload) });
    if (report.refusal !== null) throw new UsageError(report.refusal);
    const own = new Set([...before, ...report.queued, ...report.conflicts]);
    const others = report.rows
      .filter(({ outcome }) => outcome === 'conflict' || outcome === 'imported_before')
      .filter(({ changeId }) => !own.has(changeId ?? ''))
      .map(shownRow);
    const leftOut = [...report.problems.map(shownProblem), ...others];
    return { leftOut, leftOutCount: report.preview.rows.invalid + others.length };
  }

  const queue = () => withSnapshotIfAny(setup, (snapshot) => readQueue(snapshot, config, log));

  /** Raises UsageError before the first sync: there is nothing to compare a sheet with. */
  function refuseWithoutData(): void {
    if (snapshotVersion(config.dataDir) !== null) return;
    throw new UsageError('There are no data yet.', [], { hint: 'Wait for the first sync, and try again.' });
  }

  async function previewOf(upload: Upload): Promise<Partial<SheetDetails>> {
    return withFullSnapshot(setup, async (store) => {
      const all = await readQueue(store, config, log);
      const parts = { store, queue: { all: () => all }, settings: config };
      if (upload.undoes !== null) {
        const prepared = await prepareUndo(parts, [upload.undoes], { requestedBy: upload.by });
        const { changes, notes } = prepared;
        const leftOut = undoLeftOut(prepared);
        return { changes: changes.map(shownChange), leftOut, leftOutCount: leftOut.length, notes };
      }
      const { rows, changes, problems, preview, notes, refusal } = await prepareImport(
        parts,
        await uploads.source(upload),
        importOptions(upload),
      );
      const { unchanged, duplicate, imported_before } = preview.rows;
      const leftOut = problems.map(shownProblem);
      return {
        ...{ changes: changes.map(shownChange), notes, refusal, leftOut },
        leftOutCount: preview.rows.invalid,
        conflicts: rows.filter(({ outcome }) => outcome === 'conflict').map(shownRow),
        quiet: { unchanged, duplicate, imported_before },
        canFollowMerges: !upload.followMerges && problems.some(({ mergedInto }) => mergedInto),
      };
    });
  }

  /** The changes of an import, as far as they are queued. */
  async function progressOf(id: string, all: readonly Change[]): Promise<Partial<SheetDetails>> {
    const own = all.filter(({ importId }) => importId === id);
    const undone = undoneBy(all);
    const changes = await withSnapshotIfAny(setup, (snapshot) => withFacts(snapshot, own));
    return {
      changes: changes.map((change): SheetChange => {
        const { id: changeId, status, error, note } = change;
        const why = [error, note].filter((one) => one !== null).join('; ') || null;
        const isUndone = undone(changeId) !== null;
        return { ...shownChange(change), id: changeId, status, isUndone, note: why };
      }),
      hasResult: own.length > 0 || hasImportCopy(config, id),
    };
  }

  function linesOf(all: readonly Change[]): SheetLine[] {
    const changes = groupBy(all, ({ importId }) => importId);
    const known = uploads.all();
    const ids = new Set(known.map(({ id }) => id));
    const others = [...changes].flatMap(([id, own]) => (ids.has(id) ? [] : [lineOfChanges(id, own)]));
    const own = known.map((upload) => lineOf(upload, changes.get(upload.id) ?? []));
    return [...own, ...others].sort((a, b) => (a.at < b.at ? 1 : -1));
  }

  removeLeftovers(config.dataDir);
  for (const upload of uploads.all()) if (upload.state === 'confirmed') void carryOut(upload);

  return {
    async download(filter, by) {
      refuseWithoutData();
      const { about } = filter;
      const name = `${about}-${iso(clock.now()).slice(0, 10)}.xlsx`;
      const entityType = about === 'topics' ? ('topic' as const) : ('company' as const);
      const where = conditionOf(filter);
      return written(config.dataDir, name, async (out) => {
        await makeSheet(setup, { out, entityType, where }, by.name).catch((error: unknown) => {
          if (!(error instanceof UsageError)) throw error;
          throw new UsageError(`No ${about} match.`, [], {
            hint: 'Choose less, and download again.',
            cause: error,
          });
        });
      });
    },

    async upload({ name, bytes }, by) {
      refuseWithoutData();
      return (await inTurn(() => uploads.addSheet(name, bytes, by.name))).id;
    },

    async undo(id, by) {
      const line = linesOf(await queue()).find((one) => one.id === id);
      if (!line) throw new UsageError('There is no sheet with this address.');
      return uploads.addUndo(line, by.name).id;
    },

    async decide(id, decision, by) {
      const upload = uploads.get(id);
      if (upload?.state !== 'new') return;
      if (upload.by !== by.name) throw new UsageError(`Only ${upload.by}, who sent it, decides about it.`);
      if (decision === 'follow') return uploads.set(id, { followMerges: true });
      uploads.set(id, { state: decision === 'confirm' ? 'confirmed' : 'cancelled' });
      if (decision === 'confirm') void carryOut(upload);
    },

    async settle(changeId, decision, by) {
      const selection = { ids: [changeId], filter: {} };
      const [made] = await schedule.exclusively(`a decision of ${by.name}`, () =>
        decision === 'retry'
          ? retryChanges(setup, selection, { overwrite: true })
          : cancelChanges(setup, selection, {}),
      );
      if (made?.reason) throw new UsageError(`This is not possible: ${made.reason}.`);
      log.info({ change: changeId, decision, by: by.name }, 'decided on the page for sheets');
      askForPush();
    },

    async look(id) {
      const all = await queue();
      const line = linesOf(all).find((one) => one.id === id);
      if (!line) return null;
      const upload = uploads.get(id);
      const nothing = {
        ...{ changes: [], conflicts: [], leftOut: upload?.leftOut ?? [], quiet: {}, notes: [] },
        ...{ refusal: null, canFollowMerges: false, hasResult: false },
      };
      const found =
        upload?.state === 'new' ? await inTurn(() => previewOf(upload)) : await progressOf(id, all);
      return { ...line, ...nothing, ...found };
    },

    async result(id) {
      const copy = await readImportCopy(config, id);
      const all = await queue();
      const own = all.filter(({ importId }) => importId === id);
      const named = copy?.name ?? own[0]?.source;
      if (named === undefined) return null;
      const { name: from, ext } = parse(named);
      const isText = copy !== null && ['.csv', '.tsv'].includes(ext.toLowerCase());
      const name = `${from}.result${isText ? ext.toLowerCase() : '.xlsx'}`;
      return written(config.dataDir, name, (out) =>
        withFullSnapshot(setup, (store) => writeResults(out, store, copy ? [copy] : plainSheets(own), all)),
      );
    },

    async history() {
      return linesOf(await queue()).slice(0, mostLines);
    },
  };
}

/** Rows that are wrong do not hold the others back: the preview has shown them. */
function importOptions({ by, id, followMerges }: Upload): ImportOptions {
  const howToFollow = 'press the button for merged topics';
  return {
    requestedBy: by,
    importId: id,
    skipInvalid: true,
    howToFollow,
    ...(followMerges && { followMerges }),
  };
}

function undoLeftOut({ kept, notUndone }: Pick<UndoReport, 'kept' | 'notUndone'>): LeftOut[] {
  return [
    ...notUndone.map(({ title, entityId, reason }) => ({ what: title ?? entityId, why: reason })),
    ...kept.map(({ field, reason }) => ({ what: field, why: reason })),
  ];
}

function shownRow({ row, text }: ImportRow): LeftOut {
  return { what: `Row ${row}`, why: text ?? '' };
}

function shownProblem({ row, column, value, problem, allowed }: ImportProblem): LeftOut {
  const cell = value === null ? '' : `"${value}" `;
  const choices = allowed ? ` Allowed: ${allowed.join(', ')}.` : '';
  return { what: `Row ${row}${column === null ? '' : `, ${column}`}`, why: `${cell}${problem}.${choices}` };
}

/** A change as the page shows it before it is queued. */
function shownChange(
  change: Pick<PreviewChange, 'title' | 'entityId' | 'base' | 'wanted' | 'note'>,
): SheetChange {
  const { title, entityId, base, wanted, note } = change;
  const fields = Object.entries(wanted).map(([name, value]) => {
    return { name, from: valueText(base[name]), to: valueText(value) };
  });
  return { id: null, title: title ?? entityId, fields, status: null, isUndone: false, note };
}

function lineOf(
  { id, name, by, at, undoes, state, leftOutCount, problem }: Upload,
  own: readonly Change[],
): SheetLine {
  // It is queued a moment before that is stored.
  const now = state === 'confirmed' && own.length > 0 ? 'done' : state;
  return {
    ...{ id, name, by, at, isUndo: undoes !== null, state: now, leftOutCount, problem },
    statuses: countBy(own, ({ status }) => status),
  };
}

/** An import of the command line or of the drop folder. */
function lineOfChanges(id: string, own: readonly Change[]): SheetLine {
  const [{ source: name, requestedBy: by, queuedAt: at, undoes }] = own as [Change];
  return {
    ...{ id, name, by, at, isUndo: undoes.length > 0, state: 'done', leftOutCount: 0, problem: null },
    statuses: countBy(own, ({ status }) => status),
  };
}

/** The rows of a download, as a condition on topics or companies. */
function conditionOf({ about, topic, priority, state, company, text }: SheetFilter): string {
  const has = (expression: string, part: string) => `contains(lower(${expression}), lower(${literal(part)}))`;
  if (about === 'companies')
    return ['true', ...[company, text].filter(Boolean).map((part) => has('name', part))].join(' AND ');
  if (topic !== '') return `id = ${literal(topic)}`;
  return [
    'id IN (SELECT topic_id FROM open_topics)',
    ...(priority ? [`priority = ${literal(priority)}`] : []),
    ...(state ? [`coalesce(lifecycle_state, 'unknown') = ${literal(state)}`] : []),
    ...(company ? [`id IN (SELECT topic_id FROM company_topics WHERE ${has('company_name', company)})`] : []),
    ...(text ? [has("concat_ws(' ', title, summary)", text)] : []),
  ].join(' AND ');
}

/** The folders of downloads begin with this. */
const downloadPrefix = 'download-';

/** Removes what a killed process wrote for a download. */
function removeLeftovers(dataDir: string): void {
  const reports = join(dataDir, 'reports');
  for (const name of existsSync(reports) ? readdirSync(reports) : [])
    if (name.startsWith(downloadPrefix)) rmSync(join(reports, name), { recursive: true, force: true });
}

/** A file that is written for one download, in a folder of its own that is gone afterwards. */
async function written(
  dataDir: string,
  name: string,
  write: (path: string) => Promise<unknown>,
): Promise<SheetFile> {
  const reports = join(dataDir, 'reports');
  makeFolder(reports);
  const folder = mkdtempSync(join(reports, downloadPrefix));
  try {
    const path = join(folder, `sheet${extname(name)}`);
    await write(path);
    return { name, bytes: readFileSync(path) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
