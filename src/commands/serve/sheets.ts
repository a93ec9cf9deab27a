import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, extname, join, parse } from 'node:path';
import { makeFolder, writeAtomicallySync } from '../../base/atomic-file.js';
import { iso, systemClock } from '../../base/clock.js';
import { StoppedError, sentencesOf, UsageError } from '../../base/errors.js';
import { countBy, groupBy } from '../../base/group-by.js';
import { oneAtATime } from '../../base/one-at-a-time.js';
import type { Change } from '../../push/change.js';
import { withFacts } from '../../push/facts.js';
import { prepareImport } from '../../push/import/import.js';
import { fromSheet } from '../../push/import/source.js';
import type { Preview } from '../../push/previews.js';
import { queueReader } from '../../push/queue.js';
import { plainSheets, writeResults } from '../../push/result.js';
import { prepareUndo, undoneBy } from '../../push/undo.js';
import { snapshotVersion, withFullSnapshot, withSnapshotIfAny } from '../../read/snapshot.js';
import type { SheetFile, Sheets } from '../../serve/http/sheets.js';
import type { SheetChange, SheetDetails, SheetFilter, SheetLine } from '../../serve/page/sheets.js';
import type { Scheduler } from '../../serve/schedule/scheduler.js';
import { literal } from '../../store/sql.js';
import { fieldChanges, replacedText } from '../../view/changes.js';
import { cancelChanges, retryChanges } from '../changes.js';
import { confirmPreview, planned, previewsOf } from '../changes-import.js';
import { makeSheet } from '../changes-sheet.js';
import type { Setup } from '../setup.js';

/**
 * The page for sheets: previews that are made and shown without the lock, and what is confirmed and decided there, which is
 * carried out as soon as nothing else holds the warehouse.
 */

/** How many sheets the history lists. */
const maxLines = 100;

/** After something that failed for another reason than its file, such as a full disk. */
const retryMs = 60_000;

/** How long a file is kept that was sent in a session that had ended. */
const keptMs = 3_600_000;
const keptEnding = '.late';

/** Sends what is queued, and publishes it some time later (`serve.sendAfterConfirm`). */
export interface SendNow {
  /** Called while nothing else holds the warehouse. Never rejects. */
  send(): Promise<void>;
}

/**
 * All operations of the page for sheets. First carries out what was confirmed before a restart. `stop` ends
 * waiting; confirmed previews are then carried out after the next start. Without `sender`, queued changes wait for the next push.
 */
export function sheetsOf(
  setup: Setup,
  schedule: Pick<Scheduler, 'exclusively'>,
  stop: AbortSignal,
  sender: SendNow | null = null,
): Sheets {
  const { config, log, clock = systemClock } = setup;
  const previews = previewsOf(setup);
  // A preview takes the memory of an import.
  const inTurn = oneAtATime();
  /** How many confirmations and decisions are being carried out, or wait for that. */
  let underWay = 0;

  /** Carries out what was confirmed, as soon as nothing else holds the warehouse, and sends it. Never rejects. */
  async function carryOut(preview: Preview): Promise<void> {
    underWay += 1;
    await tryUntilDone(preview).finally(() => {
      underWay -= 1;
    });
  }

  async function tryUntilDone(preview: Preview): Promise<void> {
    const { id, name, by } = preview;
    while (!stop.aborted) {
      try {
        await schedule.exclusively(
          `the import of ${name}`,
          async () => {
            const done = await carriedOut(preview);
            if (sender) {
              // After a kill while it is sent, the next start sends it.
              previews.set(id, { ...done, state: 'confirmed' });
              await sender.send();
            }
            previews.set(id, { ...done, state: 'done', problem: null });
          },
          { wait: true, preempt: sender !== null },
        );
        return;
      } catch (error) {
        if (stop.aborted || error instanceof StoppedError) return;
        log.error({ err: error, preview: id }, `${name} of ${by} was confirmed and cannot be queued`);
        try {
          if (error instanceof UsageError)
            return previews.set(id, { state: 'failed', problem: sentencesOf(error) });
          previews.set(id, { problem: sentencesOf(error) });
        } catch {
          // The disk that cannot store the reason: it is in the log.
        }
        await clock.sleep(retryMs, stop).catch(() => undefined);
      }
    }
  }

  /** Queues exactly what a preview shows, or makes a decision. After a kill in the middle, nothing is done twice. */
  async function carriedOut(preview: Preview): Promise<Partial<Preview>> {
    const options = { wait: true, stop, publish: sender === null };
    if (preview.kind === 'decision') return decided(preview, options);
    await confirmPreview(setup, preview, options);
    return {};
  }

  async function decided(
    { name, about }: Preview,
    options: { readonly wait: boolean; readonly stop: AbortSignal; readonly publish: boolean },
  ): Promise<Partial<Preview>> {
    const seen = new Map(about.map((one) => [idIn(one), Number(one.split('@')[1])]));
    const selection = { ids: [...seen.keys()], filter: {}, seen };
    const made =
      name === 'retry'
        ? await retryChanges(setup, selection, { ...options, overwrite: true })
        : await cancelChanges(setup, selection, options);
    const refused = made.flatMap(({ id, reason }) => (reason === null ? [] : [{ what: id, why: reason }]));
    return { leftOut: refused, leftOutCount: refused.length };
  }

  /** The names of the files that are kept, by person; their bytes are in `imports`, where a request to forget finds them. */
  const kept = new Map<string, { readonly name: string; readonly until: number }>();
  const imports = join(config.dataDir, 'imports');
  const keptPath = (by: string) =>
    join(imports, `${createHash('sha256').update(by).digest('hex')}${keptEnding}`);

  function removeKept(by: string): void {
    kept.delete(by);
    rmSync(keptPath(by), { force: true });
  }

  const queue = queueReader(setup);

  /** Raises UsageError before the first sync: there is nothing to compare a sheet with. */
  function refuseWithoutData(): void {
    if (snapshotVersion(config.dataDir) !== null) return;
    throw new UsageError('There are no data yet.', [], { hint: 'Wait for the first sync, and try again.' });
  }

  /** The changes of an import, as far as they are queued. */
  async function progressOf(id: string, all: readonly Change[]): Promise<Partial<SheetDetails>> {
    const own = all.filter(({ importId }) => importId === id);
    const undone = undoneBy(all);
    const waiting = new Set(
      previews.all().flatMap((one) => (one.state === 'confirmed' ? one.about.map(idIn) : [])),
    );
    const changes = await withSnapshotIfAny(setup, (snapshot) => withFacts(snapshot, own));
    return {
      changes: changes.map((change): SheetChange => {
        const { id: changeId, status, error, replaced } = change;
        const unseen = replaced.map(replacedText);
        const decision = waiting.has(changeId) ? 'a decision about it will be carried out in a moment' : null;
        const why = [error, ...unseen, decision].filter((one) => one !== null).join('; ') || null;
        const isUndone = undone(changeId) !== null;
        const { revision } = change;
        return {
          id: changeId,
          revision,
          title: change.title ?? change.entityId,
          fields: fieldChanges(change),
          status,
          isUndone,
          isDecided: decision !== null,
          note: why,
        };
      }),
      hasResult: own.length > 0 || previews.hasCopy(id),
    };
  }

  function linesOf(all: readonly Change[]): SheetLine[] {
    const undone = undoneBy(all);
    const changes = groupBy(
      all.map((one) => ({ ...one, shown: undone(one.id) === null ? one.status : ('undone' as const) })),
      ({ importId }) => importId,
    );
    const known = previews.all();
    const ids = new Set(known.map(({ id }) => id));
    const others = [...changes].flatMap(([id, own]) => (ids.has(id) ? [] : [lineOfChanges(id, own)]));
    const own = known
      .filter(({ kind }) => kind !== 'decision')
      .map((one) => lineOf(one, changes.get(one.id) ?? []));
    return [...own, ...others].sort((a, b) => (a.at < b.at ? 1 : -1));
  }

  removeLeftovers(config.dataDir);
  for (const preview of previews.all()) if (preview.state === 'confirmed') void carryOut(preview);

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
            hint: 'Use fewer filters, and download again.',
            cause: error,
          });
        });
      });
    },

    async upload({ name, bytes }, by) {
      refuseWithoutData();
      const added = await inTurn(async () => {
        const source = await fromSheet({ bytes, name });
        // Rows that are wrong do not hold the others back: the preview shows them.
        const options = { requestedBy: by.name, skipInvalid: true };
        const plan = await planned(setup, (parts) => prepareImport(parts, source, options));
        return previews.add(plan, source);
      });
      return added.id;
    },

    keep({ name, bytes }, by) {
      makeFolder(imports);
      writeAtomicallySync(keptPath(by.name), bytes);
      const one = { name, until: clock.monotonic() + keptMs };
      kept.set(by.name, one);
      const atItsEnd = () => {
        if (kept.get(by.name) === one) removeKept(by.name);
      };
      void clock.sleep(keptMs, stop).then(atItsEnd, atItsEnd);
    },

    takeKept(by) {
      const one = kept.get(by.name);
      const path = keptPath(by.name);
      // A request to forget may have deleted it.
      const file =
        one && one.until > clock.monotonic() && existsSync(path)
          ? { name: one.name, bytes: readFileSync(path) }
          : null;
      removeKept(by.name);
      return file;
    },

    async undo(id, by) {
      const line = linesOf(await queue()).find((one) => one.id === id);
      if (!line) throw new UsageError('There is no sheet with this address.');
      const plan = await planned(setup, (parts) => prepareUndo(parts, [id], { requestedBy: by.name }));
      return previews.add({ ...plan, source: line.name }).id;
    },

    async decide(id, decision, by) {
      const preview = previews.get(id);
      if (preview?.state !== 'new') return;
      if (preview.by !== by.name) throw new UsageError(`Only ${preview.by}, who sent it, decides about it.`);
      previews.set(id, { state: decision === 'confirm' ? 'confirmed' : 'cancelled' });
      if (decision === 'confirm') void carryOut({ ...preview, state: 'confirmed' });
    },

    async settle(changeIds, decision, by) {
      const known = new Set((await queue()).map(({ id }) => id));
      const ids = changeIds.filter((one) => known.has(idIn(one)));
      if (ids.length === 0) throw new UsageError('Choose the changes to decide about.');
      log.info({ changes: ids, decision, by: by.name }, 'decided on the page for sheets');
      void carryOut(previews.addDecision(randomUUID(), decision, ids, by.name));
    },

    async look(id) {
      const all = await queue();
      const line = linesOf(all).find((one) => one.id === id);
      if (!line) return null;
      const preview = previews.get(id);
      const nothing = {
        plan: null,
        changes: [],
        leftOut: preview?.leftOut ?? [],
        hasResult: false,
        isBeingSent: sender !== null && underWay > 0,
      };
      const found = preview?.state === 'new' ? { plan: previews.plan(preview) } : await progressOf(id, all);
      return { ...line, ...nothing, ...found };
    },

    async result(id) {
      const copy = await previews.copy(id);
      const all = await queue();
      const own = all.filter(({ importId }) => importId === id);
      const named = copy?.name ?? own[0]?.source;
      if (named === undefined) return null;
      const { name: from, ext } = parse(basename(named));
      const isText = copy !== null && ['.csv', '.tsv'].includes(ext.toLowerCase());
      const name = `${from}.result${isText ? ext.toLowerCase() : '.xlsx'}`;
      return written(config.dataDir, name, (out) =>
        withFullSnapshot(setup, (store) => writeResults(out, store, copy ? [copy] : plainSheets(own), all)),
      );
    },

    async history() {
      return linesOf(await queue()).slice(0, maxLines);
    },
  };
}

/** The id of a change in `id@revision`, as the page names the version that a person has seen. */
function idIn(seen: string): string {
  return seen.split('@')[0] ?? '';
}

/** The status of a change in the history: `undone` for one that was applied and undone. */
interface ShownStatus {
  readonly shown: Change['status'] | 'undone';
}

function lineOf(
  { id, name, by, at, kind, state, hasChanges, leftOutCount, problem }: Preview,
  own: readonly ShownStatus[],
): SheetLine {
  // It is queued a moment before that is stored.
  const now = state === 'confirmed' && own.length > 0 ? 'done' : state;
  const statuses = countBy(own, ({ shown }) => shown);
  const isUndo = kind === 'undo';
  return { id, name, by, at, isUndo, state: now, hasChanges, leftOutCount, problem, statuses };
}

/** An import whose preview is not kept any more. */
function lineOfChanges(id: string, own: readonly (Change & ShownStatus)[]): SheetLine {
  const [{ source: name, requestedBy: by, queuedAt: at, undoes }] = own as [Change & ShownStatus];
  return {
    id,
    name,
    by,
    at,
    isUndo: undoes.length > 0,
    state: 'done',
    hasChanges: true,
    leftOutCount: 0,
    problem: null,
    statuses: countBy(own, ({ shown }) => shown),
  };
}

/** The rows of a download, as a condition on topics or companies. */
function conditionOf({ about, priority, state, company, text }: SheetFilter): string {
  const has = (expression: string, part: string) => `contains(lower(${expression}), lower(${literal(part)}))`;
  if (about === 'companies')
    return ['true', ...[company, text].filter(Boolean).map((part) => has('name', part))].join(' AND ');
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

/** Removes files of a killed process: half-written downloads, and uploads that waited for a login. */
function removeLeftovers(dataDir: string): void {
  const imports = join(dataDir, 'imports');
  for (const name of existsSync(imports) ? readdirSync(imports) : [])
    if (name.endsWith(keptEnding)) rmSync(join(imports, name), { force: true });
  const reports = join(dataDir, 'reports');
  for (const name of existsSync(reports) ? readdirSync(reports) : [])
    if (name.startsWith(downloadPrefix)) rmSync(join(reports, name), { recursive: true, force: true });
}

/** A file that is written for one download, in a folder of its own that is gone afterwards. */
export async function written(
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
