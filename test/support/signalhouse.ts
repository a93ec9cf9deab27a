import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Tuning } from '../../src/config/load.js';
import { canRunInProcess, runInProcess } from './in-process.js';

/** The program as it is shipped. */
export const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

const tunedProgram = fileURLToPath(new URL('tuned-main.mjs', import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** On top of an environment without any SIGNALHOUSE_ variable. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly stdin?: string;
  /** Other values for what the program chooses itself. */
  readonly tuning?: Tuning | undefined;
}

/** A running command, and how it ends. */
export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
}

/** Starts the program without a terminal. */
export function start(args: readonly string[], options: RunOptions = {}): Running {
  const child = spawn(process.execPath, [options.tuning ? tunedProgram : program, ...args], {
    env: environment(options),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: 'pipe',
  });
  return { child, ended: endOf(child, options.stdin) };
}

/** Gives a program its input, and resolves when it has ended, with everything that it printed. */
export function endOf(child: ChildProcessWithoutNullStreams, stdin = ''): Promise<Ran> {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => undefined).end(stdin);
  return new Promise<Ran>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** What a program has printed once that has this in it. */
export function printed(
  { child, ended }: Running,
  enough: string,
  from: 'stdout' | 'stderr' = 'stdout',
): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child[from]?.on('data', (part: string) => {
      text += part;
      if (text.includes(enough)) resolve(text);
    });
    void ended.then(({ stderr }) => reject(new Error(`it ended without "${enough}": ${stderr}`)));
  });
}

/** Runs a command to its end, in a process of its own only where it has to be (see canRunInProcess). */
export function signalhouse(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return canRunInProcess(args, options)
    ? runInProcess(args, environment(options), options)
    : start(args, options).ended;
}

function environment({ env, tuning }: RunOptions): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(SIGNALHOUSE_|COLUMNS$|NODE_OPTIONS$)/.test(name),
  );
  return { ...Object.fromEntries(own), ...env, ...(tuning && { TUNING: JSON.stringify(tuning) }) };
}
