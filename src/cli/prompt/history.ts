import { closeSync, fchmodSync, fstatSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
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
    this.#append(`${lines.join('\n')}\n`);
  }

  #remember(line: string): void {
    const before = this.entries.indexOf(line);
    if (before >= 0) this.entries.splice(before, 1);
    this.entries.unshift(line);
    this.entries.splice(most);
  }

  #append(text: string): void {
    withFile(this.path, 'a', (file) => writeSync(file, text));
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
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
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
