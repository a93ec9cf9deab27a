import { type ChildProcess, fork, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import {
  LakeError,
  LockedError,
  messageOf,
  type Problem,
  SignalhouseError,
  StorageError,
  UsageError,
} from './errors.js';
import { duration } from './units.js';

/** Whether a process of this machine is alive, including those of other users. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The message to a process of `runTask`. */
type ToTask = { readonly task: unknown } | { readonly stop: true };

/** The messages from it: notes while it works, and in the end its result or its error. */
type FromTask = { readonly note: unknown } | { readonly result: unknown } | { readonly error: SentError };

/**
 * Has a program of ours, by its path in dist, do one task in a process of its own (`answerTask`): a process can only start
 * what is compiled, also when a test runs this module from src. It gets none of our variables: they hold the settings and
 * secrets. Rejects with the task's error, in its class, or with what `ended` makes of how the process ended before it was done.
 */
export function runTask<Result, Note = never>(
  program: string,
  task: unknown,
  control: {
    /** Called with the notes of the running task. */
    readonly onNote?: (note: Note) => void;
    /** Asks the task to end. */
    readonly stop?: AbortSignal | undefined;
    /** Ends the process at once. */
    readonly kill?: AbortSignal | undefined;
    readonly stderr?: 'ignore' | 'inherit';
    readonly ended: (how: string) => Error;
  },
): Promise<Result> {
  const { onNote, stop, kill, stderr = 'ignore', ended } = control;
  const path = fileURLToPath(new URL(`../../dist/${program}`, import.meta.url));
  return new Promise((resolve, reject) => {
    const child: ChildProcess = fork(path, [], {
      env: envWithoutOurs(),
      execArgv: [],
      stdio: ['ignore', 'ignore', stderr, 'ipc'],
    });
    const say = (message: ToTask) => child.connected && child.send(message, () => undefined);
    const onStop = () => void say({ stop: true });
    const onKill = () => void child.kill('SIGKILL');
    let answer: FromTask | undefined;
    let failure: Error | undefined;
    child.on('message', (message: FromTask) => {
      if ('note' in message) onNote?.(message.note as Note);
      else answer = message;
    });
    child.on('error', (error) => {
      failure ??= error;
    });
    child.on('close', (code, signal) => {
      stop?.removeEventListener('abort', onStop);
      kill?.removeEventListener('abort', onKill);
      if (answer && 'result' in answer) resolve(answer.result as Result);
      else if (answer && 'error' in answer) reject(receivedError(answer.error));
      else reject(failure ?? ended(signal === null ? `ended with ${code}` : `was ended by ${signal}`));
    });
    stop?.addEventListener('abort', onStop, { once: true });
    kill?.addEventListener('abort', onKill, { once: true });
    say({ task });
    if (stop?.aborted) onStop();
    if (kill?.aborted) onKill();
  });
}

/**
 * The program of `runTask`: works on the one task that it is sent, sends back what `say` is given and the result or error,
 * and ends. The process that started it decides when it ends, not a signal of the terminal; it never outlives that one, and
 * when a container has too little memory, it is ended and not the worker.
 */
export function answerTask<Task, Note = never>(
  work: (task: Task, say: (note: Note) => Promise<void>, stop: AbortSignal) => Promise<unknown>,
): void {
  const stop = new AbortController();
  const send = (message: FromTask) =>
    new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
  process.on('message', (message: ToTask) => {
    if ('stop' in message) return stop.abort();
    void work(message.task as Task, (note) => send({ note }), stop.signal)
      .then(
        (result) => send({ result: result ?? null }),
        (error: unknown) => send({ error: sentError(error) }),
      )
      .then(() => process.exit(0));
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.umask(0o077);
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Only Linux has it.
  }
}

interface SentError {
  readonly kind: 'usage' | 'locked' | 'lake' | 'storage' | 'unexpected';
  readonly message: string;
  readonly hint?: string | undefined;
  readonly problems: readonly Problem[];
  readonly pid?: number | undefined;
  readonly stack?: string | undefined;
}

function sentError(error: unknown): SentError {
  const message = messageOf(error);
  if (!(error instanceof SignalhouseError)) {
    const stack = error instanceof Error ? error.stack : undefined;
    return { kind: 'unexpected', message, problems: [], stack };
  }
  const sent = { message, hint: error.hint, problems: [] };
  if (error instanceof UsageError) return { ...sent, kind: 'usage', problems: error.problems };
  if (error instanceof LockedError) return { ...sent, kind: 'locked', pid: error.pid };
  return { ...sent, kind: error instanceof LakeError ? 'lake' : 'storage' };
}

function receivedError({ kind, message, hint, problems, pid, stack }: SentError): Error {
  const detail = { hint };
  switch (kind) {
    case 'usage':
      return new UsageError(message, problems, detail);
    case 'locked':
      return new LockedError(message, pid, detail);
    case 'lake':
      return new LakeError(message, 'give up', detail);
    case 'storage':
      return new StorageError(message, detail);
    case 'unexpected':
      return Object.assign(new Error(message), stack !== undefined && { stack });
  }
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

/** How long a command may take after it was asked to end. */
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
      // Its background processes would go on, and keep its output open.
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
