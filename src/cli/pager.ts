import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Writable } from 'node:stream';
import { widthOf } from '../base/display-width.js';
import { print } from './output.js';

/** Where an answer is printed. */
export interface Output {
  /** The width of the terminal; undefined when there is none and lines may have any length. */
  readonly columns: number | undefined;
  /** Whether a pager has the terminal, and Ctrl-C is for it. */
  readonly isPaging: boolean;
  /** False when nobody reads on: the pager was left. */
  write(text: string): Promise<boolean>;
  /** Prints what is not shown yet, and waits until the pager is left. */
  end(): Promise<void>;
}

/** Output for programs, or for a terminal of `columns` without a pager. */
export function plainOutput(columns: number | undefined): Output {
  return {
    columns,
    isPaging: false,
    write: async (text) => {
      print(text);
      return true;
    },
    end: async () => undefined,
  };
}

/**
 * Output on a terminal: text that does not fit on the screen goes through `$PAGER`, or through less where it is not set.
 * As in psql and git, an empty PAGER or `cat` means none. A pager that cannot be started, or is left before the end, is no
 * error; in the first case the text is printed without one. `around` is called before and after the pager has the keys.
 */
export function pagedOutput(around?: AroundPager): Output {
  const pager = pagerCommand(process.env);
  const { columns, rows } = process.stdout;
  if (pager === undefined) return plainOutput(columns || 80);
  return new PagedOutput(pager, columns || 80, rows || 24, around);
}

/** What a prompt does, which shares the keys with the pager. */
interface AroundPager {
  before(): void;
  after(): void;
}

/** The command that shows long output; undefined for none. */
function pagerCommand(env: NodeJS.ProcessEnv): string | undefined {
  const { PAGER: asked } = env;
  if (asked === undefined) return isInstalled('less', env.PATH ?? '') ? 'less' : undefined;
  const command = asked.trim();
  return command === '' || command === 'cat' ? undefined : command;
}

function isInstalled(program: string, path: string): boolean {
  return path.split(delimiter).some((dir) => {
    try {
      accessSync(join(dir, program), constants.X_OK);
      return dir !== '';
    } catch {
      return false;
    }
  });
}

/** More than a pipe and a shell hold: a pager that took this much has started. */
const startedAfter = 1 << 20;

class PagedOutput implements Output {
  /** Everything written so far, until the pager has certainly started: without one, it is printed. */
  #written = '';
  #lines = 0;
  #stdin: Writable | undefined;
  /** The exit code of the pager, once it is left. */
  #left: Promise<number | null> | undefined;
  #isDirect = false;
  /** Whether the pager has not been left, and takes more text. */
  #reads = false;
  isPaging = false;

  constructor(
    private readonly command: string,
    readonly columns: number,
    private readonly rows: number,
    private readonly around?: AroundPager,
  ) {}

  async write(text: string): Promise<boolean> {
    if (this.#isDirect) {
      print(text);
      return true;
    }
    if (this.#written.length < startedAfter) this.#written += text;
    let sent = text;
    if (!this.#left) {
      this.#lines += screenLines(text, this.columns);
      // The prompt that follows takes a line as well.
      if (this.#lines < this.rows) return true;
      this.#left = this.#start();
      sent = this.#written;
    }
    await this.#send(sent);
    if (this.#reads) return true;
    await this.#endUnlessShown();
    return this.#isDirect;
  }

  async end(): Promise<void> {
    if (!this.#isDirect) await this.#endUnlessShown();
    this.#written = '';
  }

  /** Starts the pager. The terminal is its own until it ends. */
  #start(): Promise<number | null> {
    this.around?.before();
    this.#reads = true;
    this.isPaging = true;
    // Ctrl-C is for the pager: less stops searching then.
    process.on('SIGINT', ignore);
    // What git sets: leave when all fits on a screen, keep colours, keep the text on the screen; and do not wrap tables.
    const env = { LESS: 'FRSX', LV: '-c', ...process.env };
    const child = spawn('/bin/sh', ['-c', this.command], { stdio: ['pipe', 'inherit', 'inherit'], env });
    this.#stdin = child.stdin;
    // The pager was left before it had read everything.
    child.stdin.on('error', () => {
      this.#reads = false;
    });
    return new Promise((resolve) => {
      const done = (code: number | null) => {
        this.#reads = false;
        process.off('SIGINT', ignore);
        if (this.isPaging) this.around?.after();
        this.isPaging = false;
        resolve(code);
      };
      child.on('error', () => done(127));
      child.on('close', done);
    });
  }

  async #send(text: string): Promise<void> {
    if (!this.#reads) return;
    await Promise.race([new Promise<void>((done) => this.#stdin?.write(text, () => done())), this.#left]);
  }

  /** Waits until the pager is left; prints what was written where there is none, or where it could not be started. */
  async #endUnlessShown(): Promise<void> {
    this.#stdin?.end();
    const code = await this.#left;
    // What a shell exits with when it does not find a program, or may not start it.
    if (this.#left && code !== 126 && code !== 127) return;
    this.#isDirect = true;
    if (this.#written !== '') print(this.#written);
  }
}

/** How many lines of the terminal a text takes, at least. */
function screenLines(text: string, columns: number): number {
  const lines = text.split('\n');
  const wrapped = lines.reduce(
    (sum, line) =>
      sum + (line.length <= columns / 2 ? 0 : Math.max(0, Math.ceil(widthOf(line) / columns) - 1)),
    0,
  );
  return lines.length - 1 + wrapped;
}

function ignore(): void {}
