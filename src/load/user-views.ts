import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { messageOf } from '../base/errors.js';
import { runTask } from '../base/processes.js';
import type { Session } from '../store/session.js';
import { listLiteral, literal } from '../store/sql.js';
import { createList } from './views.js';

/** The outcome of one file of views/ in the data directory. */
export interface UserView {
  /** Its name, e.g. `churn.sql`. */
  readonly file: string;
  /** The views and macros that it created. */
  readonly creates: readonly string[];
  /** Why it was left out; null when it is in the snapshot. */
  readonly error: string | null;
}

/** The same before the snapshot is made, with the statements to run for it; none when it is left out. */
export interface TriedView extends UserView {
  readonly statements: readonly string[];
}

/** A file and its text. */
interface UserFile {
  readonly file: string;
  readonly sql: string;
  /** A link to a file elsewhere, which may not be meant for those who read the error. */
  readonly isLink: boolean;
}

/** What the process is told: the SQL that makes the tables and views of a snapshot, and the files to try on them. */
export interface UserViewTask {
  readonly schema: readonly string[];
  readonly files: readonly UserFile[];
}

/** What the process says: that it begins a file, and the outcome of it. */
export type UserViewNote = { readonly begins: string } | TriedView;

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

/** The process starts in a second, and much later on a machine without a free core. */
const startMs = 60_000;

/** Longer than any view that a person writes, and short enough to be parsed at once. */
const maxBytes = 100_000;

/**
 * Tries the files `views/*.sql` of a data directory, in the order of their names, on an empty database with the tables
 * and views of a snapshot (`schema`). A file that fails is left out as a whole, with the reason. Never throws: the files
 * belong to users, and nothing that is in them may fail a publication.
 *
 * A process of its own tries them, because DuckDB cannot interrupt a statement that it is still planning, and does not
 * count the memory of it: macros that use each other twice, 30 levels deep, plan forever. It does not touch the snapshot.
 */
export async function tryUserViews(
  dataDir: string,
  schema: () => readonly string[],
  limits: UserViewLimits = defaultLimits,
): Promise<readonly TriedView[]> {
  const { files, results } = readFiles(join(dataDir, 'views'));
  const links = new Set(files.filter(({ isLink }) => isLink).map(({ file }) => file));
  const deadline = performance.now() + limits.totalMs;
  let left = files;
  while (left.length > 0) {
    const ms = deadline - performance.now();
    const late = `the files before it took more than ${limits.totalMs / 1000} s`;
    const tried = ms > 0 ? await run(schema(), left, limits) : left.map(({ file }) => failed(file, late));
    const done = tried.map((one) =>
      one.error !== null && links.has(one.file) ? failed(one.file, unquoted) : one,
    );
    const failures = done.filter(({ error }) => error !== null);
    results.push(...failures);
    // A process that had to be ended took what it had created with it: all that may be created is tried once more.
    if (done.length === left.length) results.push(...done.filter(({ error }) => error === null));
    left =
      done.length === left.length
        ? []
        : left.filter(({ file }) => failures.every((one) => one.file !== file));
  }
  return results.sort((a, b) => (a.file < b.file ? -1 : 1));
}

/**
 * Creates the views of tried files in the database that is in use, and the view ops.user_views, which says the outcome of
 * each file, unless the database has no schema ops. Returns the files, with the reason where one failed here.
 */
export async function createUserViews(
  session: Session,
  tried: readonly TriedView[],
  isListed = true,
): Promise<UserView[]> {
  const created: UserView[] = [];
  for (const { statements, ...view } of tried) {
    const error = await problemOf(() =>
      session.transaction(async (tx) => {
        for (const statement of statements) await tx.run(statement);
      }),
    );
    created.push(error === undefined ? view : { ...view, creates: [], error });
  }
  if (isListed && created.length > 0)
    await createList(
      session,
      listed,
      created.map(({ file, creates, error }) => [
        literal(file),
        `${listLiteral(creates)}::VARCHAR[]`,
        `${error === null ? 'NULL' : literal(error)}::VARCHAR`,
      ]),
    );
  return created;
}

const listed = {
  view: 'ops.user_views',
  comment: 'Which files of views/ in the data directory are in this snapshot? One row per file.',
  columns: {
    file: 'The file in views/ of the data directory.',
    creates: 'The views and macros that it created.',
    error: 'Why it was left out. NULL when it is in this snapshot.',
  },
};

/** Runs `work`, which creates or tries a view; returns what is wrong with it. */
export async function problemOf(work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return shortMessage(error);
  }
}

/** A message of DuckDB without the line that it prints below, with a mark under the place: it is read in a list. */
export function shortMessage(error: unknown): string {
  const message = messageOf(error);
  return (message.split(/\n+LINE \d+:/)[0] ?? message).replaceAll(/\s+/g, ' ').slice(0, 500);
}

const unquoted =
  'it is a link to a file elsewhere, and what is wrong with that is not shown, because it would quote it; copy the file here to see it';

function failed(file: string, error: string): TriedView {
  return { file, creates: [], statements: [], error };
}

function readFiles(folder: string): { files: UserFile[]; results: TriedView[] } {
  const files: UserFile[] = [];
  const results: TriedView[] = [];
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
      const path = join(folder, file);
      const isLink = relative(realpathSync(folder), realpathSync(path)).startsWith('..');
      files.push({ file, sql: textOf(path), isLink });
    } catch (error) {
      results.push(failed(file, messageOf(error)));
    }
  }
  return { files, results };
}

function textOf(path: string): string {
  const found = statSync(path);
  // Reading a pipe would wait forever.
  if (!found.isFile()) throw new Error('it is not a file');
  if (found.size > maxBytes) throw new Error(`it is longer than ${maxBytes.toLocaleString('en-US')} bytes`);
  const text = decoded(readFileSync(path));
  // DuckDB would take what comes before it for the whole.
  if (text.includes('\0')) throw new Error('it has a NUL character');
  return text;
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('it is not UTF-8 text');
  }
}

/** Runs files in one process, until all are done or one must be ended. Returns the outcome of at least one of them. */
async function run(
  schema: readonly string[],
  files: readonly UserFile[],
  limits: UserViewLimits,
): Promise<TriedView[]> {
  const results: TriedView[] = [];
  let current = files[0]?.file ?? '';
  let reason = '';
  const kill = new AbortController();
  const after = (ms: number, what: string) =>
    setTimeout(() => {
      reason = `${what} took more than ${ms / 1000} s`;
      kill.abort();
    }, ms);
  let late = after(startMs, 'starting the process that creates it');
  const onNote = (note: UserViewNote) => {
    clearTimeout(late);
    late = after(limits.fileMs, 'creating it');
    if ('begins' in note) current = note.begins;
    else results.push(note);
  };
  const task: UserViewTask = { schema, files };
  const ended = () => new Error('DuckDB ended while it was created');
  try {
    await runTask<void, UserViewNote>('load/user-views-process.js', task, {
      onNote,
      ended,
      kill: kill.signal,
    });
  } catch (error) {
    if (!results.some(({ file }) => file === current))
      results.push(failed(current, reason || messageOf(error)));
    else
      for (const { file } of files)
        if (!results.some((one) => one.file === file))
          results.push(failed(file, reason || 'the process that creates it ended'));
  } finally {
    clearTimeout(late);
  }
  return results;
}
