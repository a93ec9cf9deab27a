import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { program } from './signalhouse.js';

interface TerminalOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly columns?: number;
  readonly rows?: number;
  /** The program is of another session than the terminal: no signal tells it that the terminal is gone. */
  readonly isElsewhere?: boolean;
}

const open = new Set<ChildProcess>();

/** Ends what a test that failed left running. */
export function closeTerminals(): void {
  for (const child of open) child.kill('SIGKILL');
}

/** The program in a pseudo-terminal (`script` of util-linux), with what it shows and keys to press. */
export class Terminal {
  readonly #child: ChildProcess;
  readonly #isElsewhere: boolean;
  #shown = '';
  #seen = 0;
  #wake: (() => void) | undefined;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;

  constructor(
    args: readonly string[],
    { env, cwd, columns = 80, rows = 24, isElsewhere = false }: TerminalOptions,
  ) {
    this.#isElsewhere = isElsewhere;
    const quoted = [process.execPath, program, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(SIGNALHOUSE_|COLUMNS$|LINES$|PAGER$|LESS$|NODE_OPTIONS$)/.test(name),
    );
    const command = `stty cols ${columns} rows ${rows}; exec ${isElsewhere ? 'setsid --wait ' : ''}${quoted.join(' ')}`;
    this.#child = spawn('script', ['-qefc', command, '/dev/null'], {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...Object.fromEntries(inherited), TERM: 'xterm', SHELL: '/bin/sh', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#shown += text;
      this.#wake?.();
    });
    this.ended = new Promise((resolve) => this.#child.on('close', resolve));
    open.add(this.#child);
    void this.ended.then(() => {
      open.delete(this.#child);
      this.#wake?.();
    });
  }

  /** Everything that was shown, without colours and movements of the cursor. */
  get text(): string {
    return plain(this.#shown);
  }

  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Types a line and Enter, and waits for `pattern` in what is shown after that. Returns what was shown until then. */
  async enter(line: string, pattern: RegExp): Promise<string> {
    this.type(`${line}\r`);
    return this.until(pattern);
  }

  /** Waits until `pattern` is shown after what was waited for before; the text up to its end. */
  async until(pattern: RegExp): Promise<string> {
    for (;;) {
      const unseen = plain(this.#shown.slice(this.#seen));
      if (pattern.test(unseen)) {
        this.#seen = this.#shown.length;
        return unseen;
      }
      if (this.#child.exitCode !== null)
        throw new Error(`the program ended before it showed ${pattern}:\n${unseen}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Sends a signal to the program itself. */
  signal(name: 'SIGTERM' | 'SIGHUP'): void {
    process.kill(this.#program(), name);
  }

  /** Closes the window of the terminal. Returns whether the program still runs. */
  hangUp(): () => boolean {
    const program = this.#program();
    this.#child.kill('SIGKILL');
    return () => isAlive(program);
  }

  #program(): number {
    // `script` has one child: the shell, which has become the program, or setsid.
    const child = childOf(this.#child.pid);
    return this.#isElsewhere ? childOf(child) : child;
  }
}

function childOf(pid: number | undefined): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return Number(children.trim().split(' ')[0]);
}

/** Not when it has ended and only waits for its new parent, process 1, to take notice: on a busy machine, a minute. */
function isAlive(pid: number): boolean {
  try {
    const [, state] = /^\d+ \(.*\) (\w)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return state !== 'Z';
  } catch {
    return false;
  }
}

function plain(text: string): string {
  return stripVTControlCharacters(text).replaceAll('\r\n', '\n');
}
