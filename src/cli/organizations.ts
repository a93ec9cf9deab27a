import { ExitCode, StoppedError } from '../base/errors.js';
import { pool } from '../base/pool.js';
import { sections } from '../view/text.js';
import type { Context } from './command.js';
import { toggle } from './command.js';
import { answer } from './output.js';
import { errorText, type ReportedError, reported } from './run.js';
import { eachOrganization, type OrganizationContext } from './setup.js';
import { listen } from './signals.js';

/** `--all`: a command for every organization of the settings file. One that fails does not stop the others. */

export const all = toggle.describe('For every organization of the settings file');

/** What a command did for one organization: its result and exit code. */
export interface Done<T> {
  readonly result: T;
  readonly exitCode: ExitCode;
}

/** The same with its name; one of `report` and `error` is null. */
export interface Outcome<T> {
  readonly organization: string;
  readonly exitCode: ExitCode;
  readonly report: T | null;
  readonly error: ReportedError | null;
}

/** Runs the command for each, at most `serve.parallel` at a time, in the order of the file. After a signal no more are started. */
export async function forEach<T>(
  contexts: readonly OrganizationContext[],
  work: (context: OrganizationContext) => Promise<Done<T>>,
  parallel = 1,
): Promise<Outcome<T>[]> {
  const outcomes = new Map<string, Outcome<T>>();
  let isAsked = false;
  // The work at hand listens for itself.
  const release = listen(() => {
    isAsked = true;
  });
  try {
    await pool(contexts, parallel, async (context) => {
      const { organization } = context;
      try {
        if (isAsked) throw new StoppedError('it was not started, because the command was stopped');
        const { result: report, exitCode } = await work(context);
        outcomes.set(organization, { organization, exitCode, report, error: null });
      } catch (error) {
        const failed = reported(error);
        const { exitCode } = failed;
        outcomes.set(organization, { organization, exitCode, report: null, error: failed });
      }
    });
  } finally {
    release();
  }
  return contexts.flatMap(({ organization }) => outcomes.get(organization) ?? []);
}

/** A command with `--all` for all, otherwise for one. `text` shows the result of one. */
export async function forAllOrOne<T>(
  context: Context,
  isAll: boolean,
  work: (context: Context) => Promise<Done<T>>,
  text: (result: T) => string,
): Promise<ExitCode> {
  if (!isAll) {
    const { result, exitCode } = await work(context);
    return answer(context, result, text, exitCode);
  }
  const { contexts } = await eachOrganization(context, { all: true });
  const outcomes = await forEach(contexts, work, await parallelOf(contexts));
  return answerAll(context, outcomes, text);
}

/** Prints what became of each; the exit code is the worst. */
export function answerAll<T>(
  context: Context,
  outcomes: readonly Outcome<T>[],
  text: (result: T) => string,
): ExitCode {
  const found = new Set(outcomes.map(({ exitCode }) => exitCode));
  const exitCode = fromBad.find((code) => found.has(code)) ?? ExitCode.done;
  const bodyOf = ({ report, error }: Outcome<T>) =>
    report !== null ? text(report) : error !== null ? errorText(error, 100, 'FAILED: ') : '';
  return answer(
    context,
    outcomes,
    () => sections(outcomes.map((one) => [one.organization, bodyOf(one)])),
    exitCode,
  );
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
async function parallelOf(contexts: readonly OrganizationContext[]): Promise<number> {
  const { loadConfig } = await import('../config/load.js');
  for (const { sources } of contexts) {
    try {
      return loadConfig(sources).jobsAtOnce;
    } catch {
      // The command says what is wrong.
    }
  }
  return 1;
}
