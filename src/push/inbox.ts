import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { moveFile } from '../base/atomic-file.js';
import type { Clock } from '../base/clock.js';
import { messageOf, StorageError, UsageError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { writeGrid } from '../sheet/write.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import { withFacts } from './entities.js';
import { enqueue } from './import/enqueue.js';
import { saveImportCopy } from './import/import-copies.js';
import { prepareImport } from './import/prepare.js';
import type { CostSettings, ImportReport } from './import/report.js';
import { fromSheet, type ImportSource } from './import/source.js';
import type { Queue } from './queue/queue.js';
import { isBaseColumn, resultColumns, rowResults } from './result.js';

export interface InboxParts {
  readonly dataDir: string;
  readonly queue: Queue;
  readonly warehouse: Warehouse;
  readonly settings: CostSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** The author of the changes. */
  readonly requestedBy: string;
}

/** What happened to a file in the drop folder. */
export interface InboxFile {
  readonly name: string;
  /** `waiting`: imported, but some of its changes are still in the queue; the file stays until they are settled. */
  readonly outcome: 'done' | 'rejected' | 'waiting' | 'being_written';
  readonly queued: number;
  readonly problems: number;
  /** Where it is now. */
  readonly path: string;
}

interface ImportedFile {
  readonly path: string;
  readonly source: ImportSource;
  readonly report: ImportReport;
}

/**
 * The drop folder: `importAll` imports its files before a push, and `returnFiles` writes the results beside each file
 * after it. A kill in between loses nothing: a file that is still there is recognized as imported.
 */
export class Inbox {
  readonly #parts: InboxParts;
  readonly #imported: ImportedFile[] = [];
  readonly #files: InboxFile[] = [];

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  /** Imports every sheet that is completely written; a file with a wrong row goes to `rejected/` with every reason. */
  async importAll(): Promise<void> {
    const { dataDir, clock } = this.#parts;
    makeFolders(dataDir);
    const all = sheetsIn(dataDir);
    const complete = await completeFiles(all, clock);
    for (const path of all.filter((one) => !complete.includes(one))) {
      this.#files.push({ name: basename(path), outcome: 'being_written', queued: 0, problems: 0, path });
    }
    for (const path of complete) {
      try {
        await this.#import(path);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        this.#rejectFile(path, error);
      }
    }
  }

  async #import(path: string): Promise<void> {
    const { queue, warehouse, settings, requestedBy, dataDir, log } = this.#parts;
    const source = await fromSheet({ path });
    const prepared = await prepareImport({ store: warehouse, queue, settings }, source, { requestedBy });
    const report = enqueue(queue, prepared);
    if (report.outcome === 'refused') return this.#rejectRows(path, source, report);
    saveImportCopy(dataDir, source, report);
    this.#imported.push({ path, source, report });
    log.info({ file: basename(path), queued: report.queued.length }, 'imported from the drop folder');
  }

  /** Moves the files whose changes are all settled to `done/`, each beside its result. */
  async returnFiles(): Promise<readonly InboxFile[]> {
    const { queue, dataDir, clock } = this.#parts;
    for (const { path, source, report } of this.#imported) {
      const name = basename(path);
      const queued = report.queued.length;
      const isOpen = report.rows.some(({ changeId }) => {
        const status = changeId === null ? undefined : queue.get(changeId)?.status;
        return status === 'queued' || status === 'sending';
      });
      if (isOpen) {
        this.#files.push({ name, outcome: 'waiting', queued, problems: 0, path });
        continue;
      }
      const to = freePath(foldersOf(dataDir).done, path, new Date(clock.now()));
      await this.#writeResult(pathBeside(to, 'result'), source, report);
      moveFile(path, to);
      this.#files.push({ name, outcome: 'done', queued, problems: 0, path: to });
    }
    return this.#files;
  }

  /** Rejects a file with wrong rows: a copy beside it has the reason in each row, so that people can fix the rows there. */
  async #rejectRows(path: string, source: ImportSource, report: ImportReport): Promise<void> {
    const { dataDir, clock, log } = this.#parts;
    const to = freePath(foldersOf(dataDir).rejected, path, new Date(clock.now()));
    await this.#writeResult(pathBeside(to, 'result'), source, report);
    moveFile(path, to);
    const problems = report.problems.length;
    this.#files.push({ name: basename(path), outcome: 'rejected', queued: 0, problems, path: to });
    log.warn({ file: basename(path), problems }, 'rejected from the drop folder: rows are wrong');
  }

  /** Rejects a file that is not a spreadsheet, or does not say what to change: the reason is in a text file beside it. */
  #rejectFile(path: string, error: UsageError): void {
    const { dataDir, clock, log } = this.#parts;
    const to = freePath(foldersOf(dataDir).rejected, path, new Date(clock.now()));
    const problems = error.problems.map(({ setting, problem }) => `${setting}: ${problem}`);
    const lines = [error.message, ...problems, ...(error.hint ? [error.hint] : [])];
    try {
      writeFileSync(`${to}.reason.txt`, `${lines.join('\n')}\n`);
      moveFile(path, to);
    } catch (fault) {
      throw new StorageError(`the drop folder cannot be written to: ${messageOf(fault)}`, { cause: fault });
    }
    this.#files.push({ name: basename(path), outcome: 'rejected', queued: 0, problems: 1, path: to });
    log.warn({ file: basename(path), reason: error.message }, 'rejected from the drop folder');
  }

  async #writeResult(out: string, { grid }: ImportSource, report: ImportReport): Promise<void> {
    const { queue, warehouse } = this.#parts;
    const changes = report.rows.flatMap(({ changeId }) => queue.get(changeId ?? '') ?? []);
    const notes = new Map((await withFacts(warehouse, changes)).map(({ id, note }) => [id, note]));
    const results = rowResults(
      report.rows,
      (id) => queue.get(id),
      (id) => notes.get(id) ?? null,
    );
    return writeGrid(out, grid, resultColumns(results), { overwrite: true, hidden: isBaseColumn });
  }
}

/** The endings of files that are imported; other files in the folder are ignored. */
const sheetEndings: ReadonlySet<string> = new Set(['.xlsx', '.csv', '.tsv']);

/** A file that was not written to for so long, and does not grow while we look, is complete. */
const quietMs = 2_000;

function foldersOf(dataDir: string): { inbox: string; done: string; rejected: string } {
  const inbox = join(dataDir, 'inbox');
  return { inbox, done: join(inbox, 'done'), rejected: join(inbox, 'rejected') };
}

/** Creates the folders, so that people find them. */
function makeFolders(dataDir: string): void {
  const { done, rejected } = foldersOf(dataDir);
  for (const folder of [done, rejected]) mkdirSync(folder, { recursive: true });
}

/** The sheets in the folder, by name, without hidden files and the lock files of office programs (`~$…`). */
function sheetsIn(dataDir: string): string[] {
  const { inbox } = foldersOf(dataDir);
  if (!existsSync(inbox)) return [];
  return readdirSync(inbox, { withFileTypes: true })
    .filter(
      (one) => one.isFile() && !/^[.~]/.test(one.name) && sheetEndings.has(extname(one.name).toLowerCase()),
    )
    .map(({ name }) => join(inbox, name))
    .sort();
}

/** The files that are completely written: quiet for a while, and of the same size a moment later. */
async function completeFiles(paths: readonly string[], clock: Clock): Promise<string[]> {
  const before = new Map(paths.map((path) => [path, stateOf(path)]));
  const candidates = paths.filter((path) => before.get(path) !== null);
  if (candidates.length === 0) return [];
  const latest = Math.max(...candidates.map((path) => before.get(path)?.at ?? 0));
  // The file system's clock may differ from ours: only the difference between two looks counts.
  await clock.sleep(Math.min(quietMs, Math.max(250, quietMs - (Date.now() - latest))));
  return candidates.filter((path) => {
    const now = stateOf(path);
    const then = before.get(path);
    return now !== null && then !== null && now.size > 0 && now.size === then?.size && now.at === then.at;
  });
}

function stateOf(path: string): { size: number; at: number } | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? { size: found.size, at: found.mtimeMs } : null;
}

/** The path of a file in `folder`: its own name, or its name with the time when that is taken. */
function freePath(folder: string, path: string, now: Date): string {
  const wanted = join(folder, basename(path));
  if (!existsSync(wanted)) return wanted;
  const ending = extname(path);
  const stamp = now.toISOString().replaceAll(/[-:.]/g, '');
  return join(folder, `${basename(path, ending)}.${stamp}${ending}`);
}

/** The path of a companion file: `list.csv` has `list.result.csv`. */
function pathBeside(path: string, what: string): string {
  const ending = extname(path);
  return `${path.slice(0, path.length - ending.length)}.${what}${ending}`;
}
