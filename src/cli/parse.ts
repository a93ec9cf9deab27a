import type { Argv } from 'yargs';
import yargs from 'yargs';
import { UsageError } from '../base/errors.js';
import type { Command } from './command.js';

/** What a command line comes to: text to show (help, version), or a command with its raw arguments. */
export type Parsed = { readonly text: string } | Chosen;

interface Chosen {
  readonly command: Command;
  readonly args: Readonly<Record<string, unknown>>;
}

const columns = 80;
/** The flags that every command has. */
const everywhere = ['config', 'data-dir', 'json', 'help', 'version'];

/** Reads a command line. Throws UsageError for what cannot be understood, with the command that was likely meant. */
export async function parse(
  argv: readonly string[],
  commands: readonly Command[],
  version: string,
): Promise<Parsed> {
  refuseKey(argv);
  const complaints: string[] = [];
  let chosen: Chosen | undefined;
  let output = '';
  const parser = commands.reduce(
    (y, command) =>
      y.command({
        command: command.usage === undefined ? command.name : `${command.name} ${command.usage}`,
        describe: command.summary,
        builder: (own) => build(own, command),
        handler: (args) => {
          chosen = { command, args };
        },
      }),
    base(version),
  );
  parser.fail(
    (message, error) => void complaints.push(message ?? error?.message ?? 'The command is not understood.'),
  );
  await parser.parseAsync(withComments(argv), {}, (_error: unknown, _args: unknown, text: string) => {
    output = text;
  });
  if (output !== '') return { text: output };
  if (complaints.length > 0 || chosen === undefined) throw misunderstood(complaints, argv);
  return { command: chosen.command, args: withWords(chosen, argv) };
}

/** SQL may start with a comment: two dashes and a space are no flag. It goes behind `--`, where nothing is one. */
function withComments(argv: readonly string[]): string[] {
  const isComment = (word: string) => /^--\s/.test(word);
  if (argv.includes('--') || !argv.some(isComment)) return [...argv];
  return [...argv.filter((word) => !isComment(word)), '--', ...argv.filter(isComment)];
}

/** What stands behind `--` belongs to the positional arguments, in their order. */
function withWords({ command, args }: Chosen, argv: readonly string[]): Chosen['args'] {
  const words = (Array.isArray(args._) ? args._ : []).slice(1).map(String);
  const filled = { ...args };
  for (const name of Object.keys(command.positionals ?? {})) {
    if (words.length > 0 && filled[name] === undefined) filled[name] = words.shift();
  }
  if (words.length > 0) throw misunderstood([`Unknown argument: ${words.join(' ')}`], argv);
  return filled;
}

function base(version: string): Argv {
  return (
    yargs()
      .scriptName('signalhouse')
      .usage(
        '$0 <command> [options]\n\nKeeps a DuckDB warehouse in step with a Product-Signals organization.',
      )
      // One spelling for each flag: --max-requests, and no --maxRequests beside it.
      .parserConfiguration({
        'camel-case-expansion': false,
        'dot-notation': false,
        'boolean-negation': false,
      })
      .option('config', {
        type: 'string',
        requiresArg: true,
        describe: 'A YAML file of settings (over SIGNALHOUSE_CONFIG)',
      })
      .option('data-dir', {
        type: 'string',
        requiresArg: true,
        describe: 'Where the files live (over SIGNALHOUSE_DATA_DIR)',
      })
      .option('json', { type: 'boolean', describe: 'Print the result as one JSON document' })
      .example([
        ['signalhouse demo', 'See it work, without a key or a network'],
        ['signalhouse doctor', 'Check the settings, the key and the machine'],
        ['signalhouse sync', 'Pull everything that is due'],
        ['signalhouse sql "SELECT count(*) FROM topics"', 'Ask the warehouse'],
      ])
      .epilogue('Settings: config/default.yaml. Exit codes and files: README.md.')
      .strict()
      .recommendCommands()
      .demandCommand(1, 'Name a command.')
      .version(version)
      .help()
      .alias('h', 'help')
      .showHelpOnFail(false)
      .exitProcess(false)
      .wrap(columns)
  );
}

function build(own: Argv, command: Command): Argv {
  for (const [name, option] of Object.entries(command.positionals ?? {})) own.positional(name, option);
  for (const [name, option] of Object.entries(command.options ?? {})) own.option(name, option);
  own.group(Object.keys(command.options ?? {}), 'Options:').group(everywhere, 'Everywhere:');
  return own.example(command.examples.map(([line, what]) => [line, what])).epilogue('');
}

/** The key in argv would be readable to every process of the machine, and stand in the shell's history. */
function refuseKey(argv: readonly string[]): void {
  const end = argv.indexOf('--');
  const flags = end < 0 ? argv : argv.slice(0, end);
  const flag = flags.find((one) => /^--?(api[-_]?key|key|token|bearer)(=|$)/i.test(one));
  if (flag === undefined) return;
  throw new UsageError(
    'The key is never taken from the command line.',
    [
      {
        setting: flag.replace(/=.*/s, ''),
        problem:
          'every process of this machine could read it there, and the shell would keep it in its history',
      },
    ],
    { hint: 'Set SIGNALHOUSE_API_KEY, or SIGNALHOUSE_API_KEY_FILE to a file that holds the key.' },
  );
}

function misunderstood(complaints: readonly string[], argv: readonly string[]): UsageError {
  const guess = complaints.find((one) => one.startsWith('Did you mean'));
  const rest = complaints.filter((one) => one !== guess);
  const message = guess && argv[0] ? `There is no command '${argv[0]}'.` : [...new Set(rest)].join('\n');
  const named = argv.find((one) => !one.startsWith('-'));
  const help = guess || named === undefined ? 'signalhouse --help' : `signalhouse ${named} --help`;
  return new UsageError(message || 'The command is not understood.', [], {
    hint: guess ? `${guess.replace(/\?$/, '')}? See ${help}.` : `See ${help}.`,
  });
}
