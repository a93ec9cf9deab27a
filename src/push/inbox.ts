import { chmodSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, parse, relative } from 'node:path';
import { makeFolder, moveFile } from '../base/atomic-file.js';
import type { Clock } from '../base/clock.js';
import { messageOf, StoppedError, StorageError, UsageError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { Warehouse } from '../load/warehouse.js';
import { saveAsHint, sheetError } from '../sheet/grid.js';
import { isOpen } from './change.js';
import { prepareImport } from './import/import.js';
import { fromSheet, type ImportSource } from './import/source.js';
import type { PlanParts, PlanReport } from './plan.js';
import { Previews } from './previews.js';
import type { Queue } from './queue.js';
import { writeResults } from './result.js';

export interface InboxParts {
  readonly dataDir: string;
  readonly queue: Queue;
  readonly warehouse: Warehouse;
  readonly settings: PlanParts['settings'];
  readonly clock: Clock;
  readonly log: Log;
}

export interface InboxFile {
  readonly name: string;
  /**
   * `waiting`: imported, but some of its changes are still in the queue; the file stays until they are settled. `failed`: it
   * could not be imported, moved or given a result; it stays, and the next run tries again.
   */
  readonly outcome: 'done' | 'rejected' | 'waiting' | 'being_written' | 'failed';
  readonly queued: number;
  readonly problems: number;
  /** Why the file as a whole was rejected or failed; null when that is not so. */
  readonly reason: string | null;
  readonly path: string;
}

interface ImportedFile {
  readonly path: string;
  readonly source: ImportSource;
  readonly report: PlanReport;
}

type Folder = 'done' | 'rejected';

/** How long the folder is watched: longer than network file systems show old sizes and times of a file (3 s with NFS). */
const watchMs = 5_000;

/**
 * The drop folder: `importAll` imports its files before a push, and `returnFiles` writes the results beside each file
 * after it. A kill in between loses nothing: a file that is still there is recognized as imported. Whatever is wrong with a
 * file or with the folder is in the report, and harms nothing else: only a stopped run throws.
 */
export class Inbox {
  readonly #imported: ImportedFile[] = [];
  /** By path; what is reported last counts. */
  readonly #files = new Map<string, InboxFile>();
  readonly #inbox: string;
  readonly #previews: Previews;

  constructor(private readonly parts: InboxParts) {
    this.#inbox = join(parts.dataDir, 'inbox');
    this.#previews = new Previews(parts.dataDir, parts.clock);
  }

  /** The ids of the changes that the imported files put into conflict: different people want different values. */
  get conflicts(): readonly string[] {
    return this.#imported.flatMap(({ report }) => report.conflicts);
  }

  /**
   * Imports every spreadsheet whose size and time are the same in two looks some seconds apart. One with a wrong row goes to
   * `rejected/` with every reason.
   */
  async importAll(): Promise<void> {
    const inbox = this.#inbox;
    await this.#guard(inbox, async () => {
      makeFolder(inbox);
      // So that people find them. Where a file has the name of one, that file is what is wrong.
      for (const name of ['done', 'rejected']) attempt(() => makeFolder(join(inbox, name)));
      const before = new Map<string, FileState | null>();
      for (const folder of [inbox, ...personFolders(inbox)])
        await this.#guard(folder, async () => {
          for (const path of filesIn(folder))
            await this.#guard(path, async () => void before.set(path, listedState(path)));
        });
      if (before.size > 0) await this.parts.clock.sleep(watchMs);
      const found = [...before].flatMap(([path, state]) => {
        const now = attempt(() => stateOf(path)) ?? null;
        return now === null ? [] : [{ path, modifiedAt: now.modifiedAt, isSame: now.text === state?.text }];
      });
      // Of two files of one person the newer one counts: the one that was saved later, whatever its name.
      found.sort((a, b) => a.modifiedAt - b.modifiedAt || (a.path < b.path ? -1 : 1));
      for (const { path, isSame } of found) {
        if (isSame) await this.#guard(path, () => this.#import(path));
        else this.#report(path, 'being_written');
      }
    });
  }

  /** Moves the files whose changes are all settled to `done/`, each beside its result. */
  async returnFiles(): Promise<readonly InboxFile[]> {
    const { queue } = this.parts;
    for (const imported of this.#imported) {
      const { path, report } = imported;
      const queued = report.queued.length;
      const changes = report.rows.flatMap(({ changeId }) => queue.get(changeId ?? '') ?? []);
      if (changes.some(isOpen)) this.#report(path, 'waiting', { queued });
      else
        await this.#guard(path, async () => {
          this.#report(path, 'done', { queued, path: await this.#handBack('done', imported) });
        });
    }
    return [...this.#files.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Does what concerns one file or folder. Its failure is reported; only that of a stopped run is thrown. */
  async #guard(path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof StoppedError) throw error;
      this.parts.log.error({ file: this.#nameOf(path), err: error }, 'failed in the drop folder');
      // A person has taken it away in the meantime.
      if (attempt(() => listedState(path)) === null) return;
      const reason = `${messageOf(error)}; it stays there, and the next run tries again`;
      this.#report(path, 'failed', { problems: 1, reason });
    }
  }

  async #import(path: string): Promise<void> {
    try {
      refuseOtherFiles(path);
      const source = await fromSheet({ path });
      const { queue, warehouse, settings, log } = this.parts;
      const folder = dirname(path);
      const requestedBy = folder === this.#inbox ? null : basename(folder);
      // A preview that is confirmed at once is not shown before.
      const plan = await prepareImport({ store: warehouse, queue, settings }, source, { requestedBy });
      const report = this.#previews.confirm(queue, this.#previews.add(plan, source));
      const imported = { path, source, report };
      if (report.outcome === 'refused') return await this.#rejectRows(imported);
      this.#imported.push(imported);
      log.info({ file: this.#nameOf(path), queued: report.queued.length }, 'imported from the drop folder');
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.#rejectFile(path, error);
    }
  }

  #report(path: string, outcome: InboxFile['outcome'], facts: Partial<InboxFile> = {}): void {
    const nothing = { queued: 0, problems: 0, reason: null };
    this.#files.set(path, { name: this.#nameOf(path), outcome, ...nothing, path, ...facts });
  }

  #nameOf(path: string): string {
    return relative(this.#inbox, path) || 'inbox';
  }

  /** Moves an imported file to a folder, beside its result. Returns where it is. */
  async #handBack(folder: Folder, { path, source, report }: ImportedFile): Promise<string> {
    const { queue, warehouse, log } = this.parts;
    const { bytes = new Uint8Array(), grid } = source;
    const [to, result] = this.#freePaths(folder, path, resultBeside);
    await orRemove(result, async () => {
      await writeResults(result, warehouse, [{ grid, rows: report.rows }], queue.all());
      chmodSync(result, 0o600);
      // The size first: what is there now can be too large to be read.
      if (stateOf(path)?.size === bytes.length && readFileSync(path).equals(bytes)) return moveAway(path, to);
      // The push took a while. What is there now has not been imported: it is for the next run.
      log.info({ file: this.#nameOf(path) }, 'changed or deleted in the drop folder after it was imported');
      writeFileSync(to, bytes, { flag: 'wx', mode: 0o600 });
    });
    return to;
  }

  /** Rejects a file with wrong rows, with the reasons in a copy. */
  async #rejectRows(imported: ImportedFile): Promise<void> {
    const { path, report } = imported;
    const problems = report.problems.length;
    this.#report(path, 'rejected', { problems, path: await this.#handBack('rejected', imported) });
    this.parts.log.warn(
      { file: this.#nameOf(path), problems },
      'rejected from the drop folder: rows are wrong',
    );
  }

  /** Rejects a file that is not a spreadsheet, or does not say what to change: the reason is in a text file beside it. */
  #rejectFile(path: string, error: UsageError): void {
    const [to, beside] = this.#freePaths('rejected', path, (one) => `${one}.reason.txt`);
    const problems = error.problems.map(({ setting, problem }) => `${setting}: ${problem}`);
    const lines = [error.message, ...problems, ...(error.hint ? [error.hint] : [])];
    writeFileSync(beside, `${lines.join('\n')}\n`, { flag: 'wx', mode: 0o600 });
    moveAway(path, to);
    const reason = [error.message, ...problems].join(' ');
    this.#report(path, 'rejected', { problems: 1, reason, path: to });
    this.parts.log.warn({ file: this.#nameOf(path), reason }, 'rejected from the drop folder');
  }

  /** Free paths in a folder for a file and its companion: its own name, with a number when one of the two is taken. */
  #freePaths(folder: Folder, path: string, companionOf: (path: string) => string): [string, string] {
    makeFolder(join(this.#inbox, folder));
    const { name, ext } = parse(path);
    const isFree = (one: string) => lstatSync(one, { throwIfNoEntry: false }) === undefined;
    for (let number = 1; ; number += 1) {
      const file = join(this.#inbox, folder, `${name}${number === 1 ? '' : `.${number}`}${ext}`);
      const companion = companionOf(file);
      if (isFree(file) && isFree(companion)) return [file, companion];
    }
  }
}

/** The endings of files that are imported; other files in the folder are rejected. */
const sheetEndings: readonly string[] = ['.xlsx', '.ods', '.csv', '.tsv'];

/** Hidden files, and those that programs keep beside a file for a while: locks, backups, downloads that are not complete. */
const notForUs =
  /^[.~]|~$|^#.*#$|\.(tmp|temp|part|partial|filepart|crdownload|download|swp)$|^(thumbs\.db|desktop\.ini)$/i;

/** Does the work that a file was written for, or removes that file again. */
async function orRemove(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

/** Moves a file of the drop folder to where only this user reads it, if it is this user's. */
function moveAway(from: string, to: string): void {
  moveFile(from, to);
  // The permissions of a link are those of what it points to.
  if (lstatSync(to).isFile()) attempt(() => chmodSync(to, 0o600));
}

/** The folders of people in the drop folder: what is in `inbox/anna/` was sent by anna. */
function personFolders(inbox: string): string[] {
  return readdirSync(inbox, { withFileTypes: true }).flatMap((one) =>
    one.isDirectory() && !isSheetName(one.name) && !notAPerson.test(one.name) ? [join(inbox, one.name)] : [],
  );
}

/** Our own folders, hidden ones, and those that systems make. */
const notAPerson = /^([^\p{L}\p{N}].*|done|rejected|lost\+found|system volume information)$/iu;

/** What people have put into a folder, by name; folders only where they are named like a file. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((one) => (!one.isDirectory() || isSheetName(one.name)) && !notForUs.test(one.name))
    .map(({ name }) => join(folder, name));
}

function isSheetName(name: string): boolean {
  return sheetEndings.includes(extname(name).toLowerCase());
}

interface FileState {
  readonly size: number;
  readonly modifiedAt: number;
  /** What a write changes, and what a file is that takes the place of another. */
  readonly text: string;
}

/** The state of a file that was just listed; null when it is gone. */
function listedState(path: string): FileState | null {
  const state = stateOf(path);
  // What Node.js cannot decode in a name, it replaces; no file has that name then.
  if (state === null && path.includes('\uFFFD'))
    throw new StorageError('its name is not valid UTF-8: rename the file');
  return state;
}

function stateOf(path: string): FileState | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return null;
  const { size, mtimeMs, ctimeMs, ino } = found;
  const text = [size, mtimeMs, ctimeMs, ino].join(' ');
  return { size: found.isFile() ? size : -1, modifiedAt: mtimeMs, text };
}

/** Raises UsageError for a file whose ending is not that of a spreadsheet, and for a link, which may point anywhere. */
function refuseOtherFiles(path: string): void {
  const [name, ending] = [basename(path), extname(path)];
  if (!lstatSync(path).isFile())
    throw sheetError(name, 'is not a regular file', 'Copy the file itself into the folder.');
  if (isSheetName(name)) return;
  const has = ending === '' ? 'has no ending' : `ends in ${ending}`;
  throw sheetError(name, `${has}: only ${sheetEndings.join(', ')} are imported`, saveAsHint);
}

/** Undefined when the file system refuses. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** The path of the result of a file: `list.csv` has `list.result.csv`. What is read as .ods is written as .xlsx. */
function resultBeside(path: string): string {
  const { dir, name, ext } = parse(path);
  return join(dir, `${name}.result${ext.toLowerCase() === '.ods' ? '.xlsx' : ext}`);
}
