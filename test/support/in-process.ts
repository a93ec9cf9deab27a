import { fileURLToPath } from 'node:url';
import type { Tuning } from '../../src/config/load.js';
import type { Ran, RunOptions } from './signalhouse.js';
import { take } from './taken-output.js';

interface Program {
  run(argv: readonly string[], commands: unknown, tuning: Tuning): Promise<number>;
  readonly commands: unknown;
}

let loaded: Promise<Program> | undefined;
let isBusy = false;

/** These end by a signal, or start processes of their own. */
const longLived = ['demo', 'serve', 'sandbox'];

/**
 * Whether a command can run within the process of the test, from the same dist: a process for each command would cost a
 * second of CPU time for loading the program. What reads stdin, what runs beside another command, and what gives Node options
 * of its own, gets a process.
 */
export function canRunInProcess(args: readonly string[], { stdin, env }: RunOptions): boolean {
  if (isBusy || longLived.includes(args[0] ?? '')) return false;
  return stdin === undefined && env?.NODE_OPTIONS === undefined;
}

/** The machine's memory, so that no limit depends on where the tests run. */
const memory = 4 * 1024 ** 3;

/**
 * Runs one command line to its exit code with its own environment and folder, and takes what it writes. On so little data as
 * tests have, a second thread of DuckDB costs more than it does.
 */
export async function runInProcess(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  { cwd = process.cwd(), tuning }: Pick<RunOptions, 'cwd' | 'tuning'> = {},
): Promise<Ran> {
  isBusy = true;
  loaded ??= load();
  const before = { env: { ...process.env }, cwd: process.cwd(), exitCode: process.exitCode };
  const [stdout, stderr] = [take(process.stdout), take(process.stderr)];
  try {
    const { run, commands } = await loaded;
    replaceEnvironment(env);
    process.chdir(cwd);
    const code = await run(args, commands, { threads: 1, memory, ...tuning });
    return { code, signal: null, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    process.chdir(before.cwd);
    replaceEnvironment(before.env);
    process.exitCode = before.exitCode;
    stdout.release();
    stderr.release();
    isBusy = false;
  }
}

async function load(): Promise<Program> {
  const of = (path: string) => import(fileURLToPath(new URL(`../../dist/${path}`, import.meta.url)));
  const [{ run }, { commandGroups: commands }] = await Promise.all([
    of('cli/run.js'),
    of('commands/index.js'),
  ]);
  return { run, commands };
}

function replaceEnvironment(env: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  Object.assign(process.env, env);
}
