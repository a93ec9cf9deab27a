import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { sandboxSettings, withDefaults } from '../../../src/sandbox/options.js';
import { defaultSizes } from '../../../src/sandbox/world/generate.js';

const example = readFileSync(new URL('../../../config/sandbox.yaml', import.meta.url), 'utf8');

it('config/sandbox.yaml has every setting with its default, but for the port and the window', () => {
  const { port, rate, sizes, ...rest } = withDefaults({});
  expect(withDefaults(parse(example))).toEqual({
    ...rest,
    port: 4010,
    rate: { ...rate, windowMs: 1000 },
    sizes: { ...sizes, ...defaultSizes },
  });
  for (const name of Object.keys(sandboxSettings.shape))
    expect(example).toMatch(new RegExp(`^(# )?${name}:`, 'm'));
  const inComments = example.replaceAll(/^# ?(?=pagingFault:)/gm, '').replace('faults: []\n', 'faults:\n');
  const active = sandboxSettings.parse(parse(inComments.replaceAll(/^#( {2}- \{)/gm, ' $1')));
  expect([active.faults.length, active.pagingFault]).toEqual([2, 'ignore-page']);
});
