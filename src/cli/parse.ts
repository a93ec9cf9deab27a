import type { Argv } from 'yargs';
import yargs from 'yargs';
import { UsageError } from '../base/errors.js';
import { type Command, type Group, isGroup } from './command.js';

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
  commands: readonly (Command | Group)[],
  version: string,
): Promise<Parsed> {
  refuseKey(argv);
  const complaints: string[] = [];
  let chosen: Chosen | undefined;
  let output = '';
  const choose = (one: Chosen) => {
    chosen = one;
  };
  const parser = commands.reduce((y, entry) => add(y, entry, choose), base(version));
  parser.fail(
    (message, error) => void complaints.push(message ?? error?.message ?? 'The command is not understood.'),
  );
  await parser.parseAsync(withComments(argv), {}, (_error: unknown, _args: unknown, text: string) => {
    output = text;
  });
  if (output !== '') return { text: output };
  if (complaints.length > 0 || chosen === undefined) throw misunderstood(complaints, argv, commands);
  return { command: chosen.command, args: withWords(chosen, argv, commands) };
}

/** Makes a command known to yargs, or a group with the commands in it. */
function add(y: Argv, entry: Command | Group, choose: (chosen: Chosen) => void): Argv {
  if (isGroup(entry)) {
    const names = entry.commands.map(({ name }) => name).join(', ');
    return y.command({
      command: entry.name,
      describe: entry.summary,
      builder: (own) =>
        entry.commands
          .reduce((inner, command) => add(inner, command, choose), own)
          .demandCommand(1, `Name what to do: ${names}.`)
          .recommendCommands()
          .group(everywhere, 'Everywhere:')
          .example(entry.examples.map(([line, what]) => [line, what]))
          .epilogue(''),
      handler: () => undefined,
    });
  }
  return y.command({
    command: entry.usage === undefined ? entry.name : `${entry.name} ${entry.usage}`,
    describe: entry.summary,
    builder: (own) => build(own, entry),
    handler: (args) => choose({ command: entry, args }),
  });
}

/** SQL may start with a comment: two dashes and a space are no flag. It goes behind `--`, where nothing is one. */
function withComments(argv: readonly string[]): string[] {
  const isComment = (word: string) => /^--\s/.test(word);
  if (argv.includes('--') || !argv.some(isComment)) return [...argv];
  return [...argv.filter((word) => !isComment(word)), '--', ...argv.filter(isComment)];
}

/** What stands behind `--` belongs to the positional arguments, in their order. */
function withWords(
  { command, args }: Chosen,
  argv: readonly string[],
  commands: readonly (Command | Group)[],
): Chosen['args'] {
  const depth = commands.includes(command) ? 1 : 2;
  const words = (Array.isArray(args._) ? args._ : []).slice(depth).map(String);
  const filled = { ...args };
  for (const name of Object.keys(command.positionals ?? {})) {
    if (words.length > 0 && filled[name] === undefined) filled[name] = words.shift();
  }
  if (words.length > 0) throw misunderstood([`Unknown argument: ${words.join(' ')}`], argv, commands);
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

function misunderstood(
  complaints: readonly string[],
  argv: readonly string[],
  commands: readonly (Command | Group)[],
): UsageError {
  const guess = complaints.find((one) => one.startsWith('Did you mean'));
  const rest = complaints.filter((one) => one !== guess);
  const [named, inner] = argv.filter((one) => !one.startsWith('-'));
  const group = commands.filter(isGroup).find(({ name }) => name === named);
  const mistyped = group ? inner : argv[0];
  const message =
    guess && mistyped
      ? `There is no command '${group ? `${group.name} ` : ''}${mistyped}'.`
      : [...new Set(rest)].join('\n');
  const isInner = group?.commands.some(({ name }) => name === inner);
  const known = guess ? group?.name : isInner ? `${named} ${inner}` : named;
  const help = known === undefined ? 'signalhouse --help' : `signalhouse ${known} --help`;
  return new UsageError(message || 'The command is not understood.', [], {
    hint: guess ? `${guess.replace(/\?$/, '')}? See ${help}.` : `See ${help}.`,
  });
}
