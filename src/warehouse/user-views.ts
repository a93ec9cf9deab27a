import { fork } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../base/errors.js';

/** What became of one file of views/ in the data directory. */
export interface UserView {
  /** Its name, e.g. `churn.sql`. */
  readonly file: string;
  /** The views and macros that it created. */
  readonly creates: readonly string[];
  /** Why it was left out; null when it is in the snapshot. */
  readonly error: string | null;
}

/** A file and its text. */
export interface UserFile {
  readonly file: string;
  readonly sql: string;
}

/** What the process says: that it begins a file, and what became of it. */
export type FromProcess = { readonly begins: string } | UserView;

/** What a person reads about the files that are not in the snapshot. */
export function leftOutTexts(views: readonly UserView[]): string[] {
  return views.flatMap(({ file, error }) =>
    error === null ? [] : [`views/${file} is left out of signals.duckdb: ${error}`],
  );
}

/** How long files may take. */
export interface UserViewLimits {
  readonly fileMs: number;
  readonly totalMs: number;
}

/** A view is created in milliseconds; a busy machine needs a few times as long. */
const defaultLimits: UserViewLimits = { fileMs: 10_000, totalMs: 30_000 };

/** Longer than any view that a person writes, and short enough to be parsed at once. */
const maxBytes = 100_000;

/** The folder of the users' own views. */
export function userViewsDir(dataDir: string): string {
  return join(dataDir, 'views');
}

/**
 * Creates the views of the files `views/*.sql` of a data directory in a snapshot that nobody has open, in the order of
 * their names. A file that fails is left out as a whole, with the reason. Never throws: the files belong to users, and
 * nothing that is in them, or that they do to a database, may fail a publication.
 *
 * A process of its own runs them, because DuckDB cannot interrupt a statement that it is still planning, and does not
 * count the memory of it: a view of 30 nested references to another one plans for ever.
 */
export async function createUserViews(
  dataDir: string,
  snapshot: string,
  limits: UserViewLimits = defaultLimits,
): Promise<readonly UserView[]> {
  const { files, results } = readFiles(userViewsDir(dataDir));
  const deadline = performance.now() + limits.totalMs;
  let left = files;
  while (left.length > 0) {
    const ms = deadline - performance.now();
    const done = ms > 0 ? await run(snapshot, left, { ...limits, totalMs: ms }) : timedOut(left, limits);
    results.push(...done);
    left = left.filter(({ file }) => !done.some((one) => one.file === file));
  }
  return results.sort((a, b) => (a.file < b.file ? -1 : 1));
}

function timedOut(files: readonly UserFile[], { totalMs }: UserViewLimits): UserView[] {
  return files.map(({ file }) => failed(file, `the files before it took more than ${totalMs / 1000} s`));
}

function failed(file: string, error: string): UserView {
  return { file, creates: [], error };
}

function readFiles(folder: string): { files: UserFile[]; results: UserView[] } {
  const files: UserFile[] = [];
  const results: UserView[] = [];
  let entries: string[] = [];
  try {
    entries = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      results.push(failed('views', `the folder cannot be read: ${messageOf(error)}`));
  }
  // Editors keep files beside the one that is edited, with a dot in front.
  for (const file of entries.filter((name) => /^[^.].*\.sql$/i.test(name)).sort()) {
    try {
      files.push({ file, sql: textOf(join(folder, file)) });
    } catch (error) {
      results.push(failed(file, messageOf(error)));
    }
  }
  return { files, results };
}

function textOf(path: string): string {
  const found = statSync(path);
  // Reading a pipe would wait for ever.
  if (!found.isFile()) throw new Error('it is not a file');
  if (found.size > maxBytes) throw new Error(`it is longer than ${maxBytes.toLocaleString('en-US')} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    throw error instanceof TypeError ? new Error('it is not UTF-8 text') : error;
  }
}

/**
 * Beside this folder in dist, also when this module is run from src by a test: a process can only start what is compiled.
 */
const program = fileURLToPath(new URL('../../dist/warehouse/user-views-process.js', import.meta.url));

/** Runs files in one process, until all are done or one must be ended. Returns what became of at least one of them. */
function run(snapshot: string, files: readonly UserFile[], limits: UserViewLimits): Promise<UserView[]> {
  return new Promise((resolve) => {
    const results: UserView[] = [];
    let current = files[0]?.file ?? '';
    let reason = '';
    // Without the settings: the API key is one of the variables.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith('SIGNALHOUSE_')),
    );
    const child = fork(program, [], { env, execArgv: [], stdio: 'ignore', serialization: 'json' });
    const end = (because: string) => {
      reason = because;
      child.kill('SIGKILL');
    };
    const timer = () =>
      setTimeout(
        () => end(`creating it took more than ${limits.fileMs / 1000} s`),
        Math.min(limits.fileMs, limits.totalMs),
      );
    let late = timer();
    child.on('message', (message: FromProcess) => {
      clearTimeout(late);
      late = timer();
      if ('begins' in message) current = message.begins;
      else results.push(message);
    });
    child.on('error', (error) => end(messageOf(error)));
    child.on('close', (code) => {
      clearTimeout(late);
      const isDone = code === 0 && results.length === files.length;
      if (!isDone && !results.some(({ file }) => file === current))
        results.push(failed(current, reason || 'DuckDB ended while it was created'));
      else if (!isDone)
        for (const { file } of files)
          if (!results.some((one) => one.file === file))
            results.push(failed(file, reason || 'the process that creates it ended'));
      resolve(results);
    });
    child.send({ snapshot, files }, (error) => {
      if (error) end(messageOf(error));
    });
  });
}
