import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
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
  #pager: Pager | undefined;
  #isDirect = false;

  constructor(
    private readonly command: string,
    readonly columns: number,
    private readonly rows: number,
    private readonly around?: AroundPager,
  ) {}

  get isPaging(): boolean {
    return this.#pager?.isOpen === true;
  }

  async write(text: string): Promise<boolean> {
    if (this.#isDirect) {
      print(text);
      return true;
    }
    if (this.#written.length < startedAfter) this.#written += text;
    if (!this.#pager) {
      this.#lines += screenLines(text, this.columns);
      // The prompt that follows takes a line as well.
      if (this.#lines < this.rows) return true;
      this.#pager = new Pager(this.command, this.around);
      return this.#sent(this.#written);
    }
    return this.#sent(text);
  }

  async end(): Promise<void> {
    if (!this.#isDirect && (!this.#pager || isMissing(await this.#pager.end()))) this.#printWritten();
    this.#written = '';
  }

  async #sent(text: string): Promise<boolean> {
    if (await this.#pager?.write(text)) return true;
    if (!isMissing(await this.#pager?.end())) return false;
    this.#printWritten();
    return true;
  }

  #printWritten(): void {
    this.#isDirect = true;
    if (this.#written !== '') print(this.#written);
  }
}

/** What a shell exits with when it does not find a program, or may not start it. */
function isMissing(code: number | null | undefined): boolean {
  return code === 126 || code === 127;
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

/** A pager that is running. The terminal is its own until it ends. */
class Pager {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #reads = true;
  /** Whether its process still runs. */
  isOpen = true;

  constructor(command: string, around?: AroundPager) {
    around?.before();
    // Ctrl-C is for the pager: less stops searching then.
    process.on('SIGINT', ignore);
    // What git sets: leave when all fits on a screen, keep colours, keep the text on the screen; and do not wrap tables.
    const env = { LESS: 'FRSX', LV: '-c', ...process.env };
    this.#child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'inherit', 'inherit'], env });
    this.#ended = new Promise((resolve) => {
      const done = (code: number | null) => {
        const wasOpen = this.isOpen;
        this.#reads = false;
        this.isOpen = false;
        process.off('SIGINT', ignore);
        if (wasOpen) around?.after();
        resolve(code);
      };
      this.#child.on('error', () => done(127));
      this.#child.on('close', done);
    });
    // The pager was left before it had read everything.
    this.#child.stdin?.on('error', () => {
      this.#reads = false;
    });
  }

  /** False when the pager does not read any more. */
  async write(text: string): Promise<boolean> {
    const { stdin } = this.#child;
    if (!this.#reads || !stdin) return false;
    await new Promise<void>((resolve) => {
      stdin.write(text, () => resolve());
      void this.#ended.then(() => resolve());
    });
    return this.#reads;
  }

  /** Waits until the pager is left; its exit code. */
  end(): Promise<number | null> {
    this.#child.stdin?.end();
    return this.#ended;
  }
}

function ignore(): void {}
