import { ExitCode, StoppedError } from '../base/errors.js';
import { pool } from '../base/pool.js';
import type { Command, Context } from '../commands/command.js';
import { eachOrganization } from '../commands/setup.js';
import { loadConfig } from '../config/load.js';
import { sections } from '../view/text.js';
import type { View } from '../view/view.js';
import { errorText, type ReportedError, reported } from './failure.js';
import { answer, terminalText } from './output.js';
import { listen } from './signals.js';

/** Runs a command and prints its result: of one organization, or with `--all` of each. */
export async function perform(
  command: Command,
  input: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<ExitCode> {
  command.check?.(input);
  if (!('show' in command)) return command.run(input, context);
  const text = (result: unknown) => shownText(command.show(result, input));
  const exitCodeOf = (result: unknown) => command.exitCode?.(result) ?? ownExitCode(result);
  if (command.forAll !== true || input.all !== true) {
    const result = await command.run(input, context);
    return answer(context, result, text, exitCodeOf(result));
  }
  const { contexts } = await eachOrganization(context, { all: true });
  const parallel = parallelOf(contexts);
  const outcomes = await forEach(contexts, (one) => command.run(input, one), { exitCodeOf, parallel });
  return answer(context, outcomes, (all) => outcomesText(all, text), worstOf(outcomes));
}

/** A view, or text, for the terminal. */
function shownText(shown: View | string): string {
  return typeof shown === 'string' ? shown : terminalText(shown);
}

/** The exit code that a report has, as most do; 0 for the others. */
function ownExitCode(result: unknown): ExitCode {
  const { exitCode = ExitCode.done } = (result ?? {}) as { readonly exitCode?: ExitCode };
  return exitCode;
}

/** The outcome of a command for one organization; one of `report` and `error` is null. */
export interface Outcome<T> {
  readonly organization: string;
  readonly exitCode: ExitCode;
  readonly report: T | null;
  readonly error: ReportedError | null;
}

/**
 * Runs work for each organization, at most `serve.parallel` at a time, in the order of the file. One that fails does not stop the
 * others. After a signal no more are started.
 */
export async function forEach<T>(
  contexts: readonly Context[],
  work: (context: Context) => Promise<T>,
  {
    exitCodeOf = ownExitCode,
    parallel = 1,
  }: { exitCodeOf?: (result: T) => ExitCode; parallel?: number } = {},
): Promise<Outcome<T>[]> {
  const outcomes = new Map<Context, Outcome<T>>();
  let isAsked = false;
  // Running work has its own listener.
  const release = listen(() => {
    isAsked = true;
  });
  try {
    await pool(contexts, parallel, async (context) => {
      const { organization = '' } = context.sources;
      try {
        if (isAsked) throw new StoppedError('it was not started, because the command was stopped');
        const report = await work(context);
        outcomes.set(context, { organization, exitCode: exitCodeOf(report), report, error: null });
      } catch (error) {
        const failed = reported(error);
        const { exitCode } = failed;
        outcomes.set(context, { organization, exitCode, report: null, error: failed });
      }
    });
  } finally {
    release();
  }
  return contexts.flatMap((context) => outcomes.get(context) ?? []);
}

/** The worst exit code of several. */
export function worstOf(outcomes: readonly Outcome<unknown>[]): ExitCode {
  const found = new Set(outcomes.map(({ exitCode }) => exitCode));
  return fromBad.find((code) => found.has(code)) ?? ExitCode.done;
}

/** The result of each organization, below its name. */
export function outcomesText<T>(outcomes: readonly Outcome<T>[], text: (result: T) => string): string {
  const bodyOf = ({ report, error }: Outcome<T>) =>
    report !== null ? text(report) : error !== null ? errorText(error, 100, 'FAILED: ') : '';
  return sections(outcomes.map((one) => [one.organization, bodyOf(one)]));
}

/** A refused key before a failure, and a failure before what is incomplete. */
const fromBad: readonly ExitCode[] = [
  ExitCode.refused,
  ExitCode.failed,
  ExitCode.usage,
  ExitCode.locked,
  ExitCode.incomplete,
];

/** `serve.parallel`, of the first whose settings can be read: it is the same for all. */
function parallelOf(contexts: readonly Context[]): number {
  for (const { sources } of contexts) {
    try {
      return loadConfig(sources).jobsAtOnce;
    } catch {
      // The command says what is wrong.
    }
  }
  return 1;
}
