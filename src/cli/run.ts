import { ExitCode } from '../base/errors.js';
import type { Sources } from '../config/load.js';
import type { Command, Context, Group } from './command.js';
import { failureOf, failureText } from './failure.js';
import { readFlags } from './flags.js';
import { hasPrinted, print, printJson, surviveClosedPipes } from './output.js';
import { parse } from './parse.js';
import { programVersion } from './version.js';

/**
 * Runs one command line to its exit code: the one place where errors become text (on stderr) or JSON (on stdout, with
 * --json) and a code. It never throws.
 */
export async function run(
  argv: readonly string[],
  commands: readonly (Command | Group)[],
): Promise<ExitCode> {
  surviveClosedPipes();
  try {
    const parsed = await parse(argv, commands, programVersion());
    if ('text' in parsed) {
      print(parsed.text);
      return ExitCode.done;
    }
    const { command, args } = parsed;
    return await command.run(readFlags(command.flags, args), contextOf(args));
  } catch (error) {
    const failure = failureOf(error);
    const { exitCode, ...detail } = failure;
    if (argv.includes('--json') && !hasPrinted()) printJson({ error: { ...detail, exitCode } });
    else process.stderr.write(`${failureText(failure, Math.min(process.stderr.columns || 80, 100))}\n`);
    if (process.env.SIGNALHOUSE_LOG_LEVEL === 'debug' && error instanceof Error) {
      process.stderr.write(`${error.stack}\n`);
    }
    return exitCode;
  }
}

function contextOf(args: Readonly<Record<string, unknown>>): Context {
  const dataDir = args['data-dir'];
  const sources: Sources = {
    env: process.env,
    configFile: typeof args.config === 'string' ? args.config : undefined,
    flags: dataDir === undefined ? [] : [{ path: 'dataDir', flag: '--data-dir', value: dataDir }],
  };
  return { json: args.json === true, sources };
}
