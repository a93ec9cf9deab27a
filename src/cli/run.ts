import { ExitCode, messageOf, problemText, SignalhouseError, UsageError } from '../base/errors.js';
import type { Sources, Tuning } from '../config/load.js';
import { printable, wrap } from '../view/text.js';
import { type CommandGroup, type Context, readFlags } from './command.js';
import { hasPrinted, print, printJson, surviveClosedPipes } from './output.js';
import { parse } from './parse.js';
import { versionText } from './setup.js';

/**
 * Runs a command line and returns its exit code. The one place where errors become text on stderr, or JSON on stdout
 * with --json. It never throws. `tuning` replaces what the program chooses itself.
 */
export async function run(
  argv: readonly string[],
  groups: readonly CommandGroup[],
  tuning?: Tuning,
): Promise<ExitCode> {
  surviveClosedPipes();
  try {
    const parsed = await parse(argv, groups, versionText());
    if ('text' in parsed) {
      print(parsed.text);
      return ExitCode.done;
    }
    const { command, args } = parsed;
    return await command.run(readFlags(command, args), await contextOf(args, tuning));
  } catch (error) {
    const failure = reported(error);
    const { exitCode, ...detail } = failure;
    if (argv.includes('--json') && !hasPrinted()) printJson({ error: { ...detail, exitCode } });
    else process.stderr.write(`${errorText(failure, Math.min(process.stderr.columns || 80, 100))}\n`);
    if (process.env.SIGNALHOUSE_LOG_LEVEL === 'debug' && error instanceof Error) {
      process.stderr.write(`${error.stack}\n`);
    }
    return exitCode;
  }
}

async function contextOf(
  args: Readonly<Record<string, unknown>>,
  tuning: Tuning | undefined,
): Promise<Context> {
  const dataDir = args['data-dir'];
  const configFile = typeof args.config === 'string' ? args.config : undefined;
  const hasFile = configFile !== undefined || Boolean(process.env.SIGNALHOUSE_CONFIG?.trim());
  const problems = hasFile ? await import('../app/settings-problems.js') : undefined;
  const sources: Sources = {
    env: process.env,
    tuning,
    configFile,
    organization: typeof args.organization === 'string' ? args.organization : undefined,
    flags: dataDir === undefined ? [] : [{ path: 'dataDir', flag: '--data-dir', value: dataDir }],
    // Only a file can set jobs and masks. Loaded only then: the parser of schedules takes 50 ms.
    checkJobs: problems?.jobProblems,
    checkPublish: problems?.publishProblems,
  };
  return { json: args.json === true, sources };
}

/** An error as a command reports it: what happened, what to do next, and every problem. */
export type ReportedError = ReturnType<typeof reported>;

/** Classifies anything thrown. An error that is not a SignalhouseError is a failure and keeps its message. */
export function reported(error: unknown) {
  const expected = error instanceof SignalhouseError ? error : undefined;
  return {
    exitCode: expected?.exitCode ?? ExitCode.failed,
    name: error instanceof Error ? error.name : 'Error',
    message: messageOf(error),
    hint:
      expected?.hint ??
      (expected
        ? null
        : 'Unexpected error: run the command with SIGNALHOUSE_LOG_LEVEL=debug to see where it happened.'),
    problems: error instanceof UsageError ? error.problems : [],
  };
}

/** The failure as text for people, at most `columns` wide where words allow it. `who` says whose error it is. */
export function errorText(failure: ReportedError, columns: number, who = 'signalhouse: '): string {
  const lines = paragraph(`${who}${failure.message}`, columns);
  for (const problem of failure.problems) {
    const [first, ...more] = paragraph(problemText(problem), columns - 4);
    lines.push(`  - ${first}`, ...more.map((line) => `    ${line}`));
  }
  if (failure.hint !== null) lines.push(...paragraph(failure.hint, columns));
  return lines.join('\n');
}

/** Text of several lines, each at most `columns` wide. */
function paragraph(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => wrap(printable(line.replaceAll('\t', '  ')), columns));
}
