import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isAlive } from '../base/processes.js';

/**
 * A folder that only this user may pass, for one reader of a published file: for what its queries spill, and for a second
 * name of the file. DuckDB lets statements write to the path of a file that it has open, to the path of its log and to its
 * folder for spilled data, whatever the settings are; it also replays a log that lies beside that path. Opened by a name of
 * its own, the published file has none of these paths.
 */
export class PrivateFolder {
  readonly #path: string;
  /** Where to open the file. */
  readonly file: string;

  private constructor(path: string, file: string) {
    this.#path = path;
    this.file = file;
  }

  /**
   * For a file of a data directory, or only for what is spilled; undefined where this user cannot write there, or the file
   * system has no hard links.
   */
  static for(dataDir: string, file?: string): PrivateFolder | undefined {
    const path = newPath(dataDir);
    try {
      mkdirSync(path, { mode: 0o700 });
    } catch {
      return undefined;
    }
    const made = new PrivateFolder(path, join(path, basename(file ?? 'none')));
    own.add(basename(path));
    // A closed pipe (`| head`) exits the process while the rows are read.
    process.on('exit', made.remove);
    // DuckDB goes by the path that a symbolic link leads to.
    try {
      if (file !== undefined) linkSync(realpathSync(file), made.file);
    } catch {
      made.remove();
      return undefined;
    }
    removeAbandoned(dataDir);
    return made;
  }

  /** Where to spill. */
  get spill(): string {
    return join(this.#path, 'spill');
  }

  /** Removes the second name of the file, once it is open: from then on nothing leads to it. */
  forgetFile(): void {
    rmSync(this.file, { force: true });
  }

  /** May be called twice. */
  readonly remove = (): void => {
    process.off('exit', this.remove);
    own.delete(basename(this.#path));
    const removed = newPath(dirname(this.#path));
    try {
      // DuckDB's threads may make a file in it at any time, until the process has ended; by the new name they cannot.
      renameSync(this.#path, removed);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    rmSync(removed, { recursive: true, force: true });
  };
}

const prefix = '.spill-';

function newPath(dataDir: string): string {
  return join(dataDir, `${prefix}${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`);
}

/** The folders of this process. */
const own = new Set<string>();

/** How long the folder of a process of another machine or container stays after it was last used: whether it lives is not known. */
const unknownForMs = 24 * 3_600_000;

/** Removes the folders that processes left which were killed. */
export function removeAbandoned(dataDir: string): void {
  for (const name of foldersIn(dataDir))
    if (isAbandoned(join(dataDir, name), name)) rmSync(join(dataDir, name), { recursive: true, force: true });
}

/** The private folders in a data directory. */
function foldersIn(dataDir: string): string[] {
  return readdirSync(dataDir).filter((name) => name.startsWith(prefix));
}

function isAbandoned(path: string, name: string): boolean {
  const [, host, pid] = /^\.spill-(.*)-(\d+)-[0-9a-f]+$/.exec(name) ?? [];
  if (own.has(name)) return false;
  // A container that is started again has the name and the process ids of the one that was killed.
  if (host === hostname()) return Number(pid) === process.pid || !isAlive(Number(pid));
  const used = [path, join(path, 'spill')].map(
    (one) => statSync(one, { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  return Date.now() - Math.max(...used) > unknownForMs;
}
