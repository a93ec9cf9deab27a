import { ExitCode } from '../base/errors.js';
import type { CommandGroup } from '../commands/command.js';
import { contextOf, versionText } from '../commands/context.js';
import type { Tuning } from '../config/load.js';
import { errorText, reported } from './failure.js';
import { readFlags } from './flags.js';
import { hasPrinted, print, printJson, surviveClosedPipes } from './output.js';
import { parse } from './parse.js';

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
    // The settings: `--help` and `--version` would take half as long again.
    const { perform } = await import('./perform.js');
    return await perform(command, readFlags(command, args), await contextOf(args, tuning));
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
