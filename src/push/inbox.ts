import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { moveFile } from '../base/atomic-file.js';
import type { Clock } from '../base/clock.js';
import { shellWord } from '../base/command-line.js';
import type { DataDir } from '../base/encryption.js';
import { messageOf, StorageError, UsageError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { saveAsHint, sheetError } from '../sheet/grid.js';
import { readSheet } from '../sheet/read.js';
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

export interface InboxParts extends DataDir {
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
  /** The command that imports a rejected file with what its topics were merged into; null unless one was merged. */
  readonly next: string | null;
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

  /**
   * Imports every spreadsheet that is completely written. A file that has a wrong row or is not a spreadsheet goes to
   * `rejected/` with every reason.
   */
  async importAll(): Promise<void> {
    const { dataDir, clock } = this.#parts;
    makeFolders(dataDir);
    const { complete, growing } = await watchFiles(filesIn(dataDir), clock);
    for (const path of growing) this.#leave(path, 'being_written');
    for (const file of complete) {
      try {
        await this.#import(file);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        this.#rejectFile(file.path, error);
      }
    }
  }

  async #import({ path, state }: WatchedFile): Promise<void> {
    const { queue, warehouse, settings, requestedBy, dataDir, log } = this.#parts;
    refuseOtherFiles(path);
    const source = await fromSheet({ path });
    // Reading the files before it may have taken a while.
    if (stateOf(path)?.text !== state.text) return this.#leave(path, 'being_written');
    const [rejected] = freePaths(foldersOf(dataDir).rejected, path, resultBeside);
    const command = `signalhouse changes import ${shellWord(resolve(rejected))} --follow-merges`;
    const options = { requestedBy, howToFollow: `run ${command}` };
    const prepared = await prepareImport({ store: warehouse, queue, settings }, source, options);
    const report = enqueue(queue, prepared);
    if (report.outcome === 'refused') return this.#rejectRows(path, source, report, command);
    saveImportCopy(this.#parts, source, report);
    this.#imported.push({ path, source, report });
    log.info({ file: basename(path), queued: report.queued.length }, 'imported from the drop folder');
  }

  /** Moves the files whose changes are all settled to `done/`, each beside its result. */
  async returnFiles(): Promise<readonly InboxFile[]> {
    const { queue, dataDir } = this.#parts;
    for (const { path, source, report } of this.#imported) {
      const name = basename(path);
      const queued = report.queued.length;
      const isOpen = report.rows.some(({ changeId }) => {
        const status = changeId === null ? undefined : queue.get(changeId)?.status;
        return status === 'queued' || status === 'sending';
      });
      if (isOpen) {
        this.#leave(path, 'waiting', queued);
        continue;
      }
      const to = await this.#handBack(foldersOf(dataDir).done, path, source, report);
      this.#files.push({ name, outcome: 'done', queued, problems: 0, path: to, next: null });
    }
    return this.#files;
  }

  #leave(path: string, outcome: 'waiting' | 'being_written', queued = 0): void {
    this.#files.push({ name: basename(path), outcome, queued, problems: 0, path, next: null });
  }

  /** Moves an imported file to a folder, beside its result. Returns where it is. */
  async #handBack(folder: string, path: string, source: ImportSource, report: ImportReport): Promise<string> {
    const { log } = this.#parts;
    const [to, result] = freePaths(folder, path, resultBeside);
    await this.#writeResult(result, source, report);
    inFolder(() => {
      if (isUnchanged(path, source)) return moveAway(path, to);
      // The push took a while. What is there now has not been imported: it is for the next run.
      log.info({ file: basename(path) }, 'changed or deleted in the drop folder after it was imported');
      writeFileSync(to, source.bytes ?? '', { flag: 'wx', mode: 0o600 });
    });
    return to;
  }

  /**
   * Rejects a file with wrong rows: a copy beside it has the reason in each row, so that people can fix the rows there.
   * `command` imports it from there with --follow-merges.
   */
  async #rejectRows(
    path: string,
    source: ImportSource,
    report: ImportReport,
    command: string,
  ): Promise<void> {
    const { dataDir, log } = this.#parts;
    const to = await this.#handBack(foldersOf(dataDir).rejected, path, source, report);
    const problems = report.problems.length;
    const next = report.problems.some(({ mergedInto }) => mergedInto) ? command : null;
    const [name, outcome] = [basename(path), 'rejected' as const];
    this.#files.push({ name, outcome, queued: 0, problems, path: to, next });
    log.warn(
      { file: name, problems, ...(next && { next }) },
      'rejected from the drop folder: rows are wrong',
    );
  }

  /** Rejects a file that is not a spreadsheet, or does not say what to change: the reason is in a text file beside it. */
  #rejectFile(path: string, error: UsageError): void {
    const { dataDir, log } = this.#parts;
    const [to, reason] = freePaths(foldersOf(dataDir).rejected, path, (one) => `${one}.reason.txt`);
    const problems = error.problems.map(({ setting, problem }) => `${setting}: ${problem}`);
    const lines = [error.message, ...problems, ...(error.hint ? [error.hint] : [])];
    inFolder(() => {
      writeFileSync(reason, `${lines.join('\n')}\n`, { flag: 'wx', mode: 0o600 });
      moveAway(path, to);
    });
    const [name, outcome] = [basename(path), 'rejected' as const];
    this.#files.push({ name, outcome, queued: 0, problems: 1, path: to, next: null });
    log.warn({ file: name, reason: error.message }, 'rejected from the drop folder');
  }

  async #writeResult(out: string, { bytes, name, grid }: ImportSource, report: ImportReport): Promise<void> {
    const { queue, warehouse } = this.#parts;
    const changes = report.rows.flatMap(({ changeId }) => queue.get(changeId ?? '') ?? []);
    const notes = new Map((await withFacts(warehouse, changes)).map(({ id, note }) => [id, note]));
    const results = rowResults(
      report.rows,
      (id) => queue.get(id),
      (id) => notes.get(id) ?? null,
    );
    const whole = bytes ? await readSheet({ bytes, name }) : grid;
    await writeGrid(out, whole, resultColumns(results), { overwrite: true, hidden: isBaseColumn });
    chmodSync(out, 0o600);
  }
}

/** The endings of files that are imported; other files in the folder are rejected. */
const sheetEndings: ReadonlySet<string> = new Set(['.xlsx', '.ods', '.csv', '.tsv']);

/** Hidden files, and those that programs keep beside a file for a while: locks, backups, downloads that are not complete. */
const notForUs =
  /^[.~]|~$|^#.*#$|\.(tmp|temp|part|partial|filepart|crdownload|download|swp)$|^(thumbs\.db|desktop\.ini)$/i;

/**
 * How long the folder is watched: longer than network file systems show old sizes and times of a file (3 s with the
 * defaults of NFS). Only a difference counts, not the age of a file: its clock may be another one, and copies keep times.
 */
const watchMs = 5_000;

/** A file that is empty for so long will not be filled any more. */
const emptyMs = 3_600_000;

function foldersOf(dataDir: string): { inbox: string; done: string; rejected: string } {
  const inbox = join(dataDir, 'inbox');
  return { inbox, done: join(inbox, 'done'), rejected: join(inbox, 'rejected') };
}

/** Work on the folder. Raises StorageError, after which the sync runs all the same. */
function inFolder<T>(work: () => T): T {
  try {
    return work();
  } catch (fault) {
    throw new StorageError(`the drop folder cannot be used: ${messageOf(fault)}`, { cause: fault });
  }
}

/** Moves a file of the drop folder to where only this user reads it, if it is this user's. */
function moveAway(from: string, to: string): void {
  moveFile(from, to);
  try {
    chmodSync(to, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}

/** Creates the folders, so that people find them. */
function makeFolders(dataDir: string): void {
  const { done, rejected } = foldersOf(dataDir);
  for (const folder of [done, rejected]) inFolder(() => mkdirSync(folder, { recursive: true, mode: 0o700 }));
}

/** What people have put into the folder, by name; not folders. */
function filesIn(dataDir: string): string[] {
  const { inbox } = foldersOf(dataDir);
  return inFolder(() => readdirSync(inbox, { withFileTypes: true }))
    .filter((one) => !one.isDirectory() && !notForUs.test(one.name))
    .map(({ name }) => join(inbox, name))
    .sort();
}

/** Raises UsageError for a file whose ending is not that of a spreadsheet, and for a link, which may point anywhere. */
function refuseOtherFiles(path: string): void {
  const [name, ending] = [basename(path), extname(path)];
  if (!inFolder(() => lstatSync(path)).isFile())
    throw sheetError(name, 'is not a regular file', 'Copy the file itself into the folder.');
  if (sheetEndings.has(ending.toLowerCase())) return;
  const has = ending === '' ? 'has no ending' : `ends in ${ending}`;
  throw sheetError(name, `${has}: only ${[...sheetEndings].join(', ')} are imported`, saveAsHint);
}

interface FileState {
  readonly size: number;
  readonly modifiedAt: number;
  /** Everything that a write changes. No program can set the time of the last change of a file (ctime). */
  readonly text: string;
}

interface WatchedFile {
  readonly path: string;
  readonly state: FileState;
}

/** Watches the files for a while. Those that do not change, and that no program has open for writing, are complete. */
async function watchFiles(
  paths: readonly string[],
  clock: Clock,
): Promise<{ complete: WatchedFile[]; growing: string[] }> {
  const before = new Map(paths.map((path) => [path, stateOf(path)]));
  if (paths.length > 0) await clock.sleep(watchMs);
  const open = openForWriting(paths);
  const complete: WatchedFile[] = [];
  const growing: string[] = [];
  for (const path of paths) {
    const state = stateOf(path);
    if (state === null) continue;
    const isEmpty = state.size === 0 && clock.now() - state.modifiedAt < emptyMs;
    const isQuiet = state.text === before.get(path)?.text && !isEmpty && !open.has(path);
    if (isQuiet) complete.push({ path, state });
    else growing.push(path);
  }
  return { complete, growing };
}

function stateOf(path: string): FileState | null {
  const found = inFolder(() => lstatSync(path, { throwIfNoEntry: false }));
  if (!found) return null;
  const { size, mtimeMs, ctimeMs, ino } = found;
  return { size, modifiedAt: mtimeMs, text: [size, mtimeMs, ctimeMs, ino].join(' ') };
}

/**
 * The files that a program of this machine has open for writing, as far as Linux shows it to this user: the output of a
 * query may pause for minutes. None on other systems.
 */
function openForWriting(paths: readonly string[]): Set<string> {
  const open = new Set<string>();
  if (process.platform !== 'linux' || paths.length === 0) return open;
  const byRealPath = new Map(paths.map((path) => [attempt(() => realpathSync(path)) ?? path, path]));
  for (const pid of (attempt(() => readdirSync('/proc')) ?? []).filter((name) => /^\d+$/.test(name))) {
    for (const handle of attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const path = byRealPath.get(attempt(() => readlinkSync(`/proc/${pid}/fd/${handle}`)) ?? '');
      if (path === undefined) continue;
      const info = attempt(() => readFileSync(`/proc/${pid}/fdinfo/${handle}`, 'utf8')) ?? '';
      // The two lowest bits of the octal flags are 0 when it is open only for reading.
      if (/^flags:\s*[0-7]*[1-3567]$/m.test(info)) open.add(path);
    }
  }
  return open;
}

/** Undefined when the file system refuses: processes end, and those of other users do not show their files. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Whether a file still has the content that was imported. */
function isUnchanged(path: string, { bytes }: ImportSource): boolean {
  // The size first: what is there now can be too large to be read.
  return bytes !== undefined && stateOf(path)?.size === bytes.length && readFileSync(path).equals(bytes);
}

/** Paths in `folder` for a file and its companion: its own name, with a number when one of the two is taken. */
function freePaths(folder: string, path: string, companionOf: (path: string) => string): [string, string] {
  const ending = extname(path);
  const name = basename(path, ending);
  for (let number = 1; ; number += 1) {
    const file = join(folder, `${name}${number === 1 ? '' : `.${number}`}${ending}`);
    const companion = companionOf(file);
    if (!existsSync(file) && !existsSync(companion)) return [file, companion];
  }
}

/** The path of the result of a file: `list.csv` has `list.result.csv`. What is read as .ods is written as .xlsx. */
function resultBeside(path: string): string {
  const ending = extname(path);
  const written = ending.toLowerCase() === '.ods' ? '.xlsx' : ending;
  return `${path.slice(0, path.length - ending.length)}.result${written}`;
}
