import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { ExitCode, UsageError } from '../base/errors.js';
import type { Context } from '../commands/command.js';
import { viewText } from '../view/text.js';
import type { View } from '../view/view.js';

let anything = false;

/** Whether this command has printed anything: a second JSON document would make the output invalid. */
export function hasPrinted(): boolean {
  return anything;
}

/** Prints a result on stdout, and only results: scripts read it. */
export function print(text: string): void {
  anything = true;
  const line = text.endsWith('\n') ? text : `${text}\n`;
  process.stdout.write(line);
}

/**
 * Prints the result of a command, as JSON with --json and else as `text` writes it, and returns the exit code. That is set
 * before printing: a reader that closes the pipe must not change it.
 */
export function answer<T>(
  { json }: Context,
  result: T,
  text: (result: T) => string,
  exitCode: ExitCode = ExitCode.done,
): ExitCode {
  process.exitCode = exitCode;
  if (json) printJson(result);
  else print(text(result));
  return exitCode;
}

/** One JSON document, readable by people and programs. Integers beyond 2^53 are written as strings. */
export function printJson(value: unknown): void {
  const plain = (_key: string, one: unknown) => {
    if (typeof one !== 'bigint') return one;
    return Number.isSafeInteger(Number(one)) ? Number(one) : one.toString();
  };
  print(JSON.stringify(value, plain, 2));
}

/** The width available to a table; undefined when the output is not shown in a terminal. */
export function tableWidth(): number | undefined {
  if (process.stdout.isTTY) return process.stdout.columns || 80;
  const asked = Number(process.env.COLUMNS);
  return Number.isInteger(asked) && asked > 0 ? asked : undefined;
}

/** A view for stdout: with colours only where that is a terminal which takes them. */
export function terminalText(view: View, width?: number): string {
  const { NO_COLOR: noColour = '', TERM: terminal } = process.env;
  const isColoured = process.stdout.isTTY === true && noColour === '' && terminal !== 'dumb';
  return viewText(view, Date.now(), width, isColoured);
}

/**
 * Called at the start of a command line, when nothing is printed yet.
 *
 * Ends quietly when the reader of stdout has closed the pipe (`| head`), with the exit code of the command if it is
 * known by then. Another failure, such as a full disk behind `>`, ends it with exit 1. A closed stderr stops nothing, and
 * neither does a terminal that is gone: to stop then is for SIGHUP.
 */
export function surviveClosedPipes(): void {
  anything = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EIO' && process.stdout.isTTY) return;
    if (error.code === 'EPIPE') process.exit(process.exitCode ?? ExitCode.done);
    // The work is done: only its result is not shown.
    process.stderr.write(`signalhouse: the result cannot be printed: ${error.message}\n`);
    process.exit(ExitCode.failed);
  });
  process.stderr.on('error', () => undefined);
}

/** Whether a question can be asked and answered: not in a pipe, a script or a job. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true;
}

/**
 * Asks on the terminal before a command does `what`, such as `queue 3 changes`. Only `y` and `yes` confirm; Ctrl-C and the
 * end of the input do not. Throws UsageError with the hint where it cannot ask.
 */
export async function confirmed(
  context: Context,
  what: string,
  question: string,
  hint: string,
): Promise<boolean> {
  refuseUnlessAsked(context, what, '--yes', hint);
  return /^\s*(y|yes)\s*$/i.test(await answerTo(`${question} [y/N] `));
}

/** Throws UsageError with the hint where it cannot ask before a command does `what`; `flag` would have answered. */
export function refuseUnlessAsked({ json }: Context, what: string, flag: string, hint: string): void {
  if (!json && canAsk()) return;
  const problem = 'is missing, and the command cannot ask: this is not a terminal, or --json was passed';
  throw new UsageError(`This would ${what}.`, [{ setting: flag, problem }], { hint });
}

/** The text typed after a question on the terminal, not echoed where it is `hidden`; empty for Ctrl-C and the end of the input. */
export async function answerTo(question: string, { hidden = false } = {}): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = hidden ? nowhere : process.stderr;
  const terminal = createInterface({ input: process.stdin, output, ...(hidden && { terminal: true }) });
  if (hidden) process.stderr.write(question);
  try {
    const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    return await Promise.race([terminal.question(question), closed]);
  } finally {
    terminal.close();
    if (hidden) process.stderr.write('\n');
  }
}
