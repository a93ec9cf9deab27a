import { type ChildProcess, fork, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { messageOf } from './errors.js';
import { duration } from './units.js';

/** Whether a process of this machine is alive, including those of other users. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Starts a program of ours in a process of its own, by its path in dist: a process can only start what is compiled, also when
 * a test runs this module from src. It gets messages, and none of our variables: they hold the settings and secrets.
 */
export function startChild(program: string, { stderr = 'ignore' }: { stderr?: 'ignore' | 'inherit' } = {}) {
  const env = envWithoutOurs();
  const path = fileURLToPath(new URL(`../../dist/${program}`, import.meta.url));
  const child: ChildProcess = fork(path, [], {
    env,
    execArgv: [],
    stdio: ['ignore', 'ignore', stderr, 'ipc'],
  });
  return child;
}

/** Our variables hold the settings and secrets. */
function envWithoutOurs(): NodeJS.ProcessEnv {
  const hidden = /^(SIGNALHOUSE_|AWS_)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !hidden.test(name)));
}

/** How a command of the user ended; `problem` is null when it succeeded. */
export interface CommandEnd {
  readonly problem: string | null;
  /** It was ended, or not started, because `stop` was aborted. */
  readonly isStopped: boolean;
}

/** What a command may take after it was asked to end. */
const graceMs = 5_000;

/** A longer line of output is cut: it goes to the log. */
const longestLine = 2_000;

/**
 * Runs a program of the user: a list of words as they are, or one line by `/bin/sh`. It gets `env`, and our own environment
 * without our variables. Each line of its output goes to `onLine`. When `stop` is aborted or `limitMs` is over, it and what
 * it started are asked to end, and killed after a few seconds. Never rejects.
 */
export function runCommand(
  command: string | readonly string[],
  options: {
    readonly env: Readonly<Record<string, string>>;
    readonly stop?: AbortSignal | undefined;
    readonly limitMs: number;
    readonly onLine: (line: string) => void;
  },
): Promise<CommandEnd> {
  const { stop, limitMs, onLine } = options;
  const [program = '', ...args] = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
  if (stop?.aborted) return Promise.resolve({ problem: 'it was not started', isStopped: true });
  return new Promise((resolve) => {
    // A group of its own: what it starts ends with it.
    const child = spawn(program, args, {
      env: { ...envWithoutOurs(), ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let ending: string | null = null;
    let killer: NodeJS.Timeout | undefined;
    const signal = (name: NodeJS.Signals) => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, name);
      } catch {
        // It has just ended.
      }
    };
    const end = (why: string) => {
      ending ??= why;
      signal('SIGTERM');
      killer ??= setTimeout(() => signal('SIGKILL'), graceMs);
    };
    const onStop = () => end('it was ended');
    const limit = setTimeout(() => end(`it was ended after ${duration(limitMs)}`), limitMs);
    stop?.addEventListener('abort', onStop, { once: true });
    const finish = (problem: string | null) => {
      for (const timer of [limit, killer, drained]) clearTimeout(timer);
      stop?.removeEventListener('abort', onStop);
      resolve({ problem: ending ?? problem, isStopped: stop?.aborted === true && ending !== null });
    };
    let drained: NodeJS.Timeout | undefined;
    const streams = [child.stdout, child.stderr];
    for (const input of streams)
      createInterface({ input }).on('line', (line) => onLine(line.slice(0, longestLine)));
    child.on('error', (error) => finish(`it could not be started: ${messageOf(error)}`));
    child.on('exit', () => {
      // What it left running in the background would go on by itself, and keep its output open.
      signal('SIGKILL');
      drained = setTimeout(() => {
        for (const one of streams) one.destroy();
      }, graceMs);
    });
    child.on('close', (code, by) =>
      finish(code === 0 ? null : by === null ? `it ended with ${code}` : `it was ended by ${by}`),
    );
  });
}

/**
 * What a program that `startChild` started calls first. The process that started it decides when it ends, not a signal of the terminal; it never
 * outlives that one, and when a container has too little memory, it is ended and not the worker.
 */
export function liveAsChild(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.umask(0o077);
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Only Linux has it.
  }
}
