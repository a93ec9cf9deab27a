import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { flagsOf } from '../../src/cli/flags.js';
import { isGroup } from '../../src/commands/command.js';
import { commandGroups, commands } from '../../src/commands/index.js';
import { variables } from '../../src/config/load.js';
import { secretVariables } from '../../src/config/secrets.js';
import { signalhouse } from '../support/signalhouse.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (name: string) => readFileSync(join(root, name), 'utf8');
const readme = read('README.md');
const scripts = JSON.parse(read('package.json')).scripts;

/** Each `signalhouse …` of a text's code blocks, cut at what belongs to the shell. */
function callsIn(text: string): string[] {
  const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block ?? '');
  return blocks
    .flatMap((block) => block.split('\n'))
    .flatMap((line) => /(?:npx )?signalhouse (?!:)([a-z].*)/.exec(line.replace(/ +#.*$/, ''))?.[1] ?? []);
}

describe('the README', () => {
  it.each(callsIn(readme))('calls what there is: signalhouse %s', async (call) => {
    const [name, inner] = call.split(' ');
    const entry = commands.find((one) => one.name === name);
    expect([name, entry !== undefined]).toEqual([name, true]);
    const words = entry && isGroup(entry) ? [name!, inner!] : [name!];
    if (entry && isGroup(entry)) expect(entry.commands.map((command) => command.name)).toContain(inner);
    const { stdout: help } = await signalhouse([...words, '--help']);
    for (const [flag] of call.replace(/"[^"]*"/g, '').matchAll(/--[a-z-]+/g)) expect(help).toContain(flag);
  });

  it('has a row for every command in its group, with flags that it has', async () => {
    const listed = [...readme.matchAll(/^\| (?:\*\*(\w+)\*\*|`([a-z]+)`) \| .*\|$/gm)];
    expect(listed.map(([, heading, name]) => heading ?? name)).toEqual(
      commandGroups.flatMap(({ heading, commands }) => [heading, ...commands.map(({ name }) => name)]),
    );
    const rows = [...readme.matchAll(/^\| `([a-z]+)` \| (.*) \|$/gm)];
    for (const [, name, text = ''] of rows) {
      const entry = commands.find((command) => command.name === name);
      const own = entry && isGroup(entry) ? entry.commands : entry ? [entry] : [];
      const options = (await Promise.all(own.map((one) => one.load()))).flatMap(flagsOf);
      for (const [, flag] of text.matchAll(/`--([a-z-]+)/g))
        expect([name, options]).toEqual([name, expect.arrayContaining([flag])]);
    }
  });

  it('has every environment variable, as has .env.example', () => {
    const others = ['SIGNALHOUSE_API_KEY', 'SIGNALHOUSE_CONFIG', ...secretVariables];
    for (const name of [...Object.keys(variables), ...others]) {
      expect(readme).toContain(`\`${name}\``);
      expect(read('.env.example')).toMatch(new RegExp(`^(# )?${name}=`, 'm'));
    }
  });

  it('calls npm scripts that there are', () => {
    const called = [...`${readme}${read('CONTRIBUTING.md')}`.matchAll(/npm run ([a-z:]+)/g)].map(
      ([, name]) => name,
    );
    expect(called.length).toBeGreaterThan(0);
    for (const name of called) expect(Object.keys(scripts)).toContain(name);
  });
});
