import { createInterface } from 'node:readline/promises';
import { ExitCode, UsageError } from '../base/errors.js';

let anything = false;

/** Whether this command has printed anything: a second JSON document would make the output invalid. */
export function hasPrinted(): boolean {
  return anything;
}

/** Prints a result on stdout, and only results: scripts read it. */
export function print(text: string): void {
  anything = true;
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** One JSON document, readable by people and programs. Integers beyond 2^53 are written as strings. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, plain, 2));
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
}

/** The width available to a table; undefined when the output is not shown in a terminal. */
export function tableWidth(): number | undefined {
  if (process.stdout.isTTY) return process.stdout.columns || 80;
  const asked = Number(process.env.COLUMNS);
  return Number.isInteger(asked) && asked > 0 ? asked : undefined;
}

/**
 * Called at the start of a command line, when nothing is printed yet.
 *
 * Ends quietly when the reader of stdout has closed the pipe (`| head`), with the exit code of the command if it is
 * known by then. A closed stderr stops nothing, and neither does a terminal that is gone: to stop then is for SIGHUP.
 */
export function surviveClosedPipes(): void {
  anything = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EIO' && process.stdout.isTTY) return;
    if (error.code !== 'EPIPE') throw error;
    process.exit(process.exitCode ?? ExitCode.done);
  });
  process.stderr.on('error', () => undefined);
}

/** Whether a question can be asked and answered: not in a pipe, a script or a job. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true;
}

/** The error of a command that has to ask before it does `what`, such as `queue 3 changes`, and cannot. */
export function notAsked(what: string): UsageError {
  const problem = 'is missing, and there is nobody to ask: this is not a terminal, or --json was passed';
  return new UsageError(`This would ${what}.`, [{ setting: '--yes', problem }], {
    hint: 'Nothing was queued. Pass --yes to go ahead without a question, or --dry-run for the preview only.',
  });
}

/** Asks on the terminal. Only `y` and `yes` confirm; Ctrl-C and the end of the input do not. */
export async function confirmed(question: string): Promise<boolean> {
  return /^\s*(y|yes)\s*$/i.test(await answerTo(`${question} [y/N] `));
}

/** What is typed after a question on the terminal; empty for Ctrl-C and the end of the input. */
export async function answerTo(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    return await Promise.race([terminal.question(question), closed]);
  } finally {
    terminal.close();
  }
}
