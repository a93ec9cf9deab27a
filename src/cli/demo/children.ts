import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ExitCode, SignalhouseError } from '../../base/errors.js';
import { isObject } from '../../base/json.js';

const program = fileURLToPath(new URL('../../main.js', import.meta.url));

/** A command of the demo failed. Its own messages are on stderr already. */
export class DemoError extends SignalhouseError {
  override readonly exitCode = ExitCode.failed;
}

/**
 * The child processes of the demo, each of them this program. None of them outlives the demo: they are ended by `close`,
 * on a signal, and at the latest when this process exits.
 */
export class Children {
  readonly #running = new Set<ChildProcess>();
  readonly #env: NodeJS.ProcessEnv;
  readonly #onExit = () => this.#kill('SIGKILL');

  /** The children get their settings from `env` only, not from the user's shell. */
  constructor(
    env: Readonly<Record<string, string>>,
    private readonly stop: AbortSignal,
  ) {
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith('SIGNALHOUSE_'));
    this.#env = { ...Object.fromEntries(own), ...env };
    process.on('exit', this.#onExit);
    stop.addEventListener('abort', () => this.#kill('SIGTERM'));
  }

  /** Runs a command to its end and returns what it printed. Its stderr (progress, log) goes to ours. */
  run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    return this.#printedBy(args, env, () => false);
  }

  /** Starts a command that keeps running, and returns the JSON document that it prints when it is ready. */
  async start(args: readonly string[]): Promise<unknown> {
    return parsed(await this.#printedBy(args, {}, (printed) => parsed(printed) !== undefined));
  }

  /** What a command has printed by its end, or once that is enough. */
  #printedBy(
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    isEnough: (printed: string) => boolean,
  ): Promise<string> {
    this.stop.throwIfAborted();
    const child = spawn(process.execPath, [program, ...args], {
      env: { ...this.#env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#running.add(child);
    let printed = '';
    return new Promise((resolve, reject) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
        if (isEnough(printed)) resolve(printed);
      });
      child.on('error', reject);
      child.on('close', (code) => {
        this.#running.delete(child);
        if (this.stop.aborted) reject(this.stop.reason);
        else if (code === ExitCode.done) resolve(printed);
        else reject(new DemoError(`signalhouse ${args[0]} ended with ${code}: ${messageIn(printed)}`));
      });
    });
  }

  /** Ends the processes that still run and waits for them. */
  async close(): Promise<void> {
    const gone = [...this.#running].map((child) => new Promise((resolve) => child.once('close', resolve)));
    this.#kill('SIGTERM');
    const late = setTimeout(() => this.#kill('SIGKILL'), 5_000);
    await Promise.all(gone);
    clearTimeout(late);
    process.off('exit', this.#onExit);
  }

  #kill(signal: NodeJS.Signals): void {
    for (const child of this.#running) child.kill(signal);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function messageIn(printed: string): string {
  const value = parsed(printed);
  const error = isObject(value) && isObject(value.error) ? value.error : undefined;
  return typeof error?.message === 'string' ? error.message : 'see above';
}
