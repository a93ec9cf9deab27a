import { closeSync, fchmodSync, fstatSync, openSync, readFileSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { makeFolder } from '../../base/atomic-file.js';
import { inOneLine } from '../../base/sql-text.js';

/** How many statements are kept. */
const most = 1_000;

/** Where the statements of this user are kept: the state directory of XDG, which belongs to the user alone. */
export function historyPath(env: NodeJS.ProcessEnv): string {
  const { XDG_STATE_HOME: state } = env;
  const base = state && isAbsolute(state) ? state : join(env.HOME || homedir(), '.local', 'state');
  return join(base, 'signalhouse', 'sql_history');
}

/**
 * The statements that were entered, the newest first, in a file that only this user can read. Where it cannot be read or
 * written, they are kept for this session only.
 */
export class History {
  readonly entries: string[];

  constructor(private readonly path: string) {
    this.entries = read(path);
  }

  /** Keeps what was entered, in one line where that is possible. A text that begins with a blank is not kept. */
  add(entered: string): void {
    if (entered.trim() === '' || /^\s/.test(entered)) return;
    const line = entered.startsWith('\\') || entered.startsWith('.') ? entered.trim() : inOneLine(entered);
    // A line break within quotes cannot be left out: up to there, it is kept as it was entered.
    const lines = line.split('\n');
    for (const one of lines) this.#remember(one);
    withFile(this.path, 'a', (file) => writeSync(file, `${lines.join('\n')}\n`));
  }

  #remember(line: string): void {
    const before = this.entries.indexOf(line);
    if (before >= 0) this.entries.splice(before, 1);
    this.entries.unshift(line);
    this.entries.splice(most);
  }
}

function read(path: string): string[] {
  let lines: string[];
  try {
    lines = readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
  const newestFirst = [...new Set(lines.filter((line) => line.trim() !== '').reverse())].slice(0, most);
  if (lines.length > 2 * most)
    withFile(path, 'w', (file) => writeSync(file, `${[...newestFirst].reverse().join('\n')}\n`));
  return newestFirst;
}

function withFile(path: string, mode: 'a' | 'w', work: (file: number) => void): void {
  try {
    makeFolder(dirname(path));
    const file = openSync(path, mode, 0o600);
    try {
      // It may have been made with other permissions; a link to /dev/null keeps its own.
      if (fstatSync(file).isFile()) fchmodSync(file, 0o600);
      work(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // A home that is read-only, or none.
  }
}

/**
 * The search in the history that Ctrl-R begins, as in readline and bash: it grows with each key, and Ctrl-R again goes
 * further back. Knows neither the terminal nor its keys' codes.
 */
export class HistorySearch {
  #wanted = '';
  /** The place of the match; -1 while there is none. */
  #at = -1;
  #failed = false;

  /** `entries` are the newest first; `before` is the line when it began, which is shown until there is a match. */
  constructor(
    private readonly entries: readonly string[],
    readonly before: string,
  ) {}

  /** What is searched for. */
  get wanted(): string {
    return this.#wanted;
  }

  /** The line to show, and to run or edit. */
  get line(): string {
    return this.entries[this.#at] ?? this.before;
  }

  /** Where the match begins in `line`. */
  get column(): number {
    return Math.max(0, this.#at < 0 ? this.before.length : indexIn(this.line, this.#wanted));
  }

  get prompt(): string {
    return `(${this.#failed ? 'failed ' : ''}reverse-i-search)\`${this.#wanted}': `;
  }

  /** More of what is searched for: the match stays while it has that, too. */
  type(text: string): void {
    this.#wanted += text;
    this.#search(Math.max(0, this.#at));
  }

  /** Takes the last character back, and searches from the newest entry on. */
  erase(): void {
    this.#wanted = [...this.#wanted].slice(0, -1).join('');
    this.#at = -1;
    this.#failed = false;
    if (this.#wanted !== '') this.#search(0);
  }

  /** The next older match; `last` is what was searched for before, for a search that has nothing yet. */
  further(last: string): void {
    const isFirst = this.#wanted === '';
    if (isFirst) this.#wanted = last;
    if (this.#wanted !== '') this.#search(isFirst ? 0 : this.#at + 1);
  }

  /** The match stays where there is no other one. */
  #search(from: number): void {
    const found = this.entries.findIndex((one, index) => index >= from && indexIn(one, this.#wanted) >= 0);
    this.#failed = found < 0;
    if (found >= 0) this.#at = found;
  }
}

/** A text in small letters is found in any. */
function indexIn(line: string, wanted: string): number {
  const isSmall = wanted === wanted.toLowerCase();
  return (isSmall ? line.toLowerCase() : line).lastIndexOf(wanted);
}
