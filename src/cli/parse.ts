import type { Argv, PositionalOptions } from 'yargs';
import yargs from 'yargs';
import { UsageError } from '../base/errors.js';
import { type Command, type CommandGroup, type Group, isGroup, type Listed } from '../commands/command.js';
import { flagsOf, optionOf, positionalsOf } from './flags.js';
import { commandList, exampleList, helpColumns, withIndents } from './help.js';

/** A parsed command line: text to print (help, version), or a command with its raw arguments. */
export type Parsed = { readonly text: string } | Chosen;

interface Chosen {
  readonly command: Command;
  /** The words that call it: one, or two in a group. */
  readonly depth: number;
  readonly args: Readonly<Record<string, unknown>>;
}

/** A flag with a value. */
const word = { type: 'string', requiresArg: true } as const;
/** The flags that every command has; the first ones have a value. */
const globalWords = ['config', 'data-dir', 'organization'];
const globalFlags = [...globalWords, 'json', 'help', 'version'];

/** Parses a command line. Throws UsageError when it is not valid, with the command that was probably meant. */
export async function parse(
  argv: readonly string[],
  groups: readonly CommandGroup[],
  version: string,
): Promise<Parsed> {
  refuseKey(argv);
  const commands = groups.flatMap((group) => group.commands);
  const loaded = await loadNamed(commands, argv);
  const complaints: string[] = [];
  let chosen: Chosen | undefined;
  let output = '';
  const choose = (one: Chosen) => {
    chosen = one;
  };
  const parser = commands.reduce(
    (y, entry) => add(y, entry, entry.name, loaded, choose),
    base(groups, version),
  );
  parser.fail(
    (message, error) => void complaints.push(message ?? error?.message ?? 'The command is not valid.'),
  );
  await parser.parseAsync(withComments(argv), {}, (_error: unknown, _args: unknown, text: string) => {
    output = text;
  });
  if (output !== '') return { text: withIndents(output) };
  if (complaints.length > 0 || chosen === undefined) throw misunderstood(complaints, argv, commands);
  return { ...chosen, args: withWords(chosen, argv, commands) };
}

type Loaded = ReadonlyMap<Listed, Command>;

/** Loads the commands that a word of the command line names: usually one. */
async function loadNamed(commands: readonly (Listed | Group)[], argv: readonly string[]): Promise<Loaded> {
  const named = commands
    .filter(({ name }) => argv.includes(name))
    .flatMap((entry) => (isGroup(entry) ? entry.commands.filter(({ name }) => argv.includes(name)) : entry));
  return new Map(await Promise.all(named.map(async (one) => [one, await one.load()] as const)));
}

/** Adds a command to yargs, or a group with its commands. `path` is how it is called: `changes import`. */
function add(
  y: Argv,
  entry: Listed | Group,
  path: string,
  loaded: Loaded,
  choose: (chosen: Chosen) => void,
): Argv {
  if (isGroup(entry)) {
    const names = entry.commands.map(({ name }) => name).join(', ');
    return y.command({
      command: entry.name,
      // Shown in the usage text, where each has one line.
      describe: false,
      builder: (own) =>
        entry.commands
          .reduce((inner, one) => add(inner, one, `${path} ${one.name}`, loaded, choose), own)
          .usage(
            usageOf(`${path} <command>`, entry.summary, commandList([{ ...entry, heading: 'Commands' }])),
          )
          .demandCommand(1, `Name a command: ${names}.`)
          .recommendCommands()
          .group(globalFlags, 'Global options:')
          .epilogue(exampleList(entry.examples)),
      handler: () => undefined,
    });
  }
  const command = loaded.get(entry);
  // Known by its name, for the one that was probably meant.
  if (!command) return y.command({ command: entry.name, describe: false, handler: () => undefined });
  const { usage } = command;
  return y.command({
    command: usage === undefined ? entry.name : `${entry.name} ${usage}`,
    describe: false,
    builder: (own) => build(own, command).usage(usageOf(usage ? `${path} ${usage}` : path, entry.summary)),
    handler: (args) => choose({ command, depth: path.split(' ').length, args }),
  });
}

/** SQL may start with a comment (`-- `), which is not a flag: it goes behind `--`, where nothing is parsed as one. */
function withComments(argv: readonly string[]): string[] {
  const isComment = (word: string) => /^--\s/.test(word);
  if (argv.includes('--') || !argv.some(isComment)) return [...argv];
  return [...argv.filter((word) => !isComment(word)), '--', ...argv.filter(isComment)];
}

/** Assigns the words behind `--` to the positional arguments, in order. */
function withWords(
  { command, depth, args }: Chosen,
  argv: readonly string[],
  commands: readonly (Listed | Group)[],
): Chosen['args'] {
  const words = (Array.isArray(args._) ? args._ : []).slice(depth).map(String);
  const filled = { ...args };
  for (const name of positionalsOf(command)) {
    const given = filled[name];
    if (Array.isArray(given)) filled[name] = [...given, ...words.splice(0)];
    else if (words.length > 0 && given === undefined) filled[name] = words.shift();
  }
  if (words.length > 0) throw misunderstood([`Unknown argument: ${words.join(' ')}`], argv, commands);
  return filled;
}

function usageOf(line: string, ...paragraphs: readonly string[]): string {
  return [`$0 ${line}`, ...paragraphs].join('\n\n');
}

function base(groups: readonly CommandGroup[], version: string): Argv {
  return (
    yargs()
      .scriptName('signalhouse')
      // Our own texts are English, and the messages of yargs are recognized by their words.
      .locale('en')
      .usage(
        usageOf(
          '<command> [options]',
          'Keeps a DuckDB warehouse in sync with a Product-Signals organization.',
          commandList(groups),
        ),
      )
      // One spelling for each flag: --max-requests, not --maxRequests as well.
      .parserConfiguration({
        'camel-case-expansion': false,
        'dot-notation': false,
        'boolean-negation': false,
      })
      .option('config', { ...word, describe: 'YAML settings file (overrides SIGNALHOUSE_CONFIG)' })
      .option('data-dir', { ...word, describe: 'Data directory (overrides SIGNALHOUSE_DATA_DIR)' })
      .option('organization', { ...word, describe: 'Which organization of the settings file' })
      .option('json', { type: 'boolean', describe: 'Print the result as one JSON document' })
      .epilogue(
        `${exampleList([
          ['signalhouse demo', 'Try it, without an API key or a network'],
          ['signalhouse doctor', 'Check the settings, the key and the machine'],
          ['signalhouse sync', 'Pull everything that is due'],
          ['signalhouse sql "SELECT count(*) FROM topics"', 'Query the warehouse'],
        ])}\n\nSettings: config/default.yaml. Exit codes and files: README.md.`,
      )
      .strict()
      .recommendCommands()
      .demandCommand(1, 'Name a command.')
      .version(version)
      .help()
      .alias('h', 'help')
      .showHelpOnFail(false)
      .exitProcess(false)
      .wrap(helpColumns)
  );
}

function build(own: Argv, command: Command): Argv {
  for (const name of positionalsOf(command)) {
    const { requiresArg: _, ...described } = optionOf(command, name);
    own.positional(name, described as PositionalOptions);
  }
  const flags = flagsOf(command);
  for (const name of flags) own.option(name, optionOf(command, name));
  own.group(flags, 'Options:').group(globalFlags, 'Global options:');
  return own.epilogue(exampleList(command.examples));
}

/** A key in argv is visible to every process of the machine and stays in the shell's history. */
function refuseKey(argv: readonly string[]): void {
  const end = argv.indexOf('--');
  const flags = end < 0 ? argv : argv.slice(0, end);
  const flag = flags.find((one) => /^--?(api[-_]?key|key|token|bearer)(=|$)/i.test(one));
  if (flag === undefined) return;
  throw new UsageError(
    'The API key cannot be given on the command line.',
    [
      {
        setting: flag.replace(/=.*/s, ''),
        problem:
          'every process on this machine could read it there, and the shell would keep it in its history',
      },
    ],
    { hint: 'Set SIGNALHOUSE_API_KEY, or SIGNALHOUSE_API_KEY_FILE to a file that holds the key.' },
  );
}

/** Whether a word is the value of a global flag, which may come before the command. */
function isValue(argv: readonly string[], at: number): boolean {
  return globalWords.some((name) => argv[at - 1] === `--${name}`);
}

function misunderstood(
  complaints: readonly string[],
  argv: readonly string[],
  commands: readonly (Listed | Group)[],
): UsageError {
  const guess = complaints.find((one) => one.startsWith('Did you mean'));
  // The next message names the missing argument.
  const rest = complaints.filter((one) => one !== guess && !one.startsWith('Not enough non-option'));
  const [named, inner] = argv.filter((one, at) => !one.startsWith('-') && !isValue(argv, at));
  const group = commands.filter(isGroup).find(({ name }) => name === named);
  const mistyped = group ? inner : named;
  const message =
    guess && mistyped
      ? `There is no command '${group ? `${group.name} ` : ''}${mistyped}'.`
      : [...new Set(rest)].join('\n');
  const isInner = group?.commands.some(({ name }) => name === inner);
  const helpFor = guess ? group?.name : isInner ? `${named} ${inner}` : named;
  const help = helpFor === undefined ? 'signalhouse --help' : `signalhouse ${helpFor} --help`;
  return new UsageError(message || 'The command is not valid.', [], {
    hint: guess ? `${guess.replace(/\?$/, '')}? See ${help}.` : `See ${help}.`,
  });
}
