import { describe, expect, it, vi } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import { flagsOf as flagNames, readFlags } from '../../../src/cli/flags.js';
import { parse } from '../../../src/cli/parse.js';
import { type Command, isGroup } from '../../../src/commands/command.js';
import { commandGroups, commands } from '../../../src/commands/index.js';

const read = (...argv: string[]) => parse(argv, commandGroups, '1.2.3');

async function textOf(...argv: string[]): Promise<string> {
  const parsed = await read(...argv);
  return 'text' in parsed ? parsed.text : '';
}

async function flagsOf(...argv: string[]): Promise<unknown> {
  const parsed = await read(...argv);
  return 'command' in parsed ? readFlags(parsed.command, parsed.args) : undefined;
}

async function refusal(...argv: string[]): Promise<UsageError> {
  const error = await flagsOf(...argv).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof UsageError) return error;
  throw new Error(`not refused: ${argv.join(' ')}`);
}

/** Every command by the words that call it. */
const all: Record<string, Command> = Object.fromEntries(
  await Promise.all(
    commands
      .flatMap((entry) =>
        isGroup(entry)
          ? entry.commands.map((one) => [`${entry.name} ${one.name}`, one] as const)
          : [[entry.name, entry] as const],
      )
      .map(async ([name, one]) => [name, await one.load()] as const),
  ),
);
const names = Object.keys(all);

describe('help', () => {
  it.each(names)(
    'of %s fits into 80 columns, with examples, its own flags and those of every command',
    async (name) => {
      const help = await textOf(...name.split(' '), '--help');
      const { examples } = all[name]!;
      expect(help).toMatch(new RegExp(`^signalhouse ${name}`));
      expect(examples.length).toBeGreaterThan(0);
      for (const flag of [...flagNames(all[name]!), 'json', 'config', 'data-dir'])
        expect(help).toContain(`--${flag}`);
      for (const [line, what] of examples)
        expect(help.split('\n').map((one) => one.replaceAll(/ {2,}/g, '  '))).toContain(`  ${line}  ${what}`);
      expect(Math.max(...help.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    },
  );

  it('has each command under its group, on one line', async () => {
    const list = (entries: readonly { name: string; summary: string }[]) =>
      entries.map(({ name, summary }) => `  ${name}  ${summary}`);
    const linesOf = async (...argv: string[]) =>
      (await textOf(...argv)).split('\n').map((line) => line.replace(/^( {2}\S+) +/, '$1  '));
    const lines = await linesOf('--help');
    for (const { heading, commands } of commandGroups) {
      const at = lines.indexOf(`${heading}:`);
      expect(lines.slice(at + 1, at + 2 + commands.length)).toEqual([...list(commands), '']);
    }
    for (const group of commands.filter(isGroup))
      expect(await linesOf(group.name, '--help')).toEqual(expect.arrayContaining(list(group.commands)));
  });

  it.each(names)('of %s has examples that its own flags allow', async (name) => {
    const { examples } = all[name]!;
    const own = examples.map(([line]) => line).filter((line) => line.startsWith('signalhouse'));
    for (const line of own) {
      const argv = [...line.replace(/ [|>].*$/, '').matchAll(/"([^"]*)"|(\S+)/g)].map(
        ([, quoted, bare]) => quoted ?? bare!,
      );
      await expect(flagsOf(...argv.slice(1))).resolves.toBeDefined();
    }
  });
});

describe('what cannot be understood', () => {
  it.each([
    ['a mistyped command, with the one that was meant', ['snyc'], "no command 'snyc'", 'Did you mean sync?'],
    ['no command', [], 'Name a command', 'signalhouse --help'],
    ['a group without a command', ['changes'], 'sheet, import', 'signalhouse changes --help'],
    ['a mistyped command of a group', ['changes', 'lsit'], "no command 'changes lsit'", 'Did you mean list?'],
    [
      'an unknown flag of one',
      ['changes', 'list', '--statu', 'x'],
      'statu',
      'signalhouse changes list --help',
    ],
    ['a command without its argument', ['changes', 'show'], 'id', 'signalhouse changes show --help'],
    ['a word too many for one', ['changes', 'show', 'a', 'b'], 'b', 'signalhouse changes show --help'],
    ['an unknown flag', ['sync', '--max-request', '5'], 'max-request', 'signalhouse sync --help'],
    ['another spelling of a flag', ['sync', '--maxRequests', '5'], 'maxRequests', 'signalhouse sync --help'],
    ['a flag without its value', ['sync', '--max-requests'], 'max-requests', 'signalhouse sync --help'],
    ['a word too many', ['sync', 'topics'], 'topics', 'signalhouse sync --help'],
    [
      'a word too many behind flags',
      ['--data-dir', 'd', 'sync', 'topics'],
      'topics',
      'signalhouse sync --help',
    ],
    [
      'a mistyped command behind flags',
      ['--data-dir', 'd', '--json', 'snyc'],
      "no command 'snyc'",
      'Did you mean sync?',
    ],
    [
      'a mistyped command of a group behind flags',
      ['changes', '--config', 'c.yaml', 'lsit'],
      "no command 'changes lsit'",
      'Did you mean list? See signalhouse changes --help.',
    ],
  ])('is %s', async (_, argv, message, hint) => {
    const error = await refusal(...argv);
    expect(error.message).toContain(message);
    expect(error.hint).toContain(hint);
  });

  it('is said in English, whatever the language of the machine', async () => {
    vi.stubEnv('LC_ALL', 'de_DE.UTF-8');
    try {
      expect(await refusal('snyc')).toMatchObject({
        message: "There is no command 'snyc'.",
        hint: 'Did you mean sync? See signalhouse --help.',
      });
      expect(await textOf('sync', '--help')).toContain('\nExamples:\n');
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('is named all at once, each flag as it was written', async () => {
    const { problems } = await refusal(
      'sync',
      '--max-requests',
      'many',
      '--max-minutes',
      '-1',
      '--only',
      ',',
    );
    expect(problems.map(({ setting }) => setting).sort()).toEqual([
      '--max-minutes',
      '--max-requests',
      '--only',
    ]);
  });

  it.each([
    ['sync', '--max-requests', '1.5'],
    ['sync', '--max-requests', '0'],
    ['sync', '--max-requests', '1', '--max-requests', '2'],
    ['sync', '--max-minutes', '0'],
    ['sandbox', '--port', '70000'],
    ['sandbox', '--topics', '-1'],
    ['sql', 'SELECT 1', '--format', 'xml'],
    ['sql', 'SELECT 1', '--limit', '0'],
    ['changes', 'list', '--status', 'queued,open'],
    ['changes', 'list', '--limit', '0'],
  ])('is %s %s %s', async (...argv) => {
    expect((await refusal(...argv)).problems[0]?.setting).toBe(argv.findLast((one) => one.startsWith('--')));
  });
});

describe('what is understood', () => {
  it('names things by commas, by repeating, or both', async () => {
    expect(await flagsOf('sync', '--only', 'topics,people', '--only', 'companies')).toMatchObject({
      only: ['topics', 'people', 'companies'],
    });
  });

  it('takes a query that looks like a flag, after --', async () => {
    expect(await flagsOf('sql', '--', '--a')).toMatchObject({ query: '--a' });
    expect((await refusal('sql', '--', 'SELECT', '1')).message).toContain('Unknown argument: 1');
    // A title may begin with a dash.
    expect(await flagsOf('explain', 'topic', '--', '-5', 'degrees')).toMatchObject({ what: '-5 degrees' });
  });

  it('names the argument that is missing', async () => {
    expect((await refusal('restore')).message).toBe('Missing required argument: dir');
  });

  it('takes a query that starts with a comment', async () => {
    const query = '-- a comment\nSELECT 1';
    expect(await flagsOf('sql', query, '--limit', '3')).toMatchObject({ query, limit: 3 });
  });
});

describe('the key', () => {
  it.each(['--api-key', '--apiKey', '--api_key', '--key', '--token', '-key'])(
    'is refused as %s',
    async (flag) => {
      for (const argv of [['sync', flag, 'svc_on_argv'], [`${flag}=svc_on_argv`], ['snyc', flag]]) {
        const error = await refusal(...argv);
        expect(error.message).toContain('cannot be given on the command line');
        expect(error.problems).toEqual([{ setting: flag, problem: expect.stringContaining('history') }]);
        expect(error.hint).toContain('SIGNALHOUSE_API_KEY_FILE');
      }
    },
  );
});
