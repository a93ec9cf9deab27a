import { stripVTControlCharacters } from 'node:util';
import { afterEach, expect, it, vi } from 'vitest';
import { widthOf } from '../../../src/base/display-width.js';
import { terminalText } from '../../../src/cli/output.js';
import type { View } from '../../../src/view/view.js';

const view: View = [
  {
    id: 'lists',
    heading: 'Lists',
    blocks: [
      {
        columns: ['list', 'state', 'items#'],
        rows: [
          ['topics', { badge: 'fresh', tone: 'good' }, 12],
          ['people', [{ badge: 'NEVER COMPLETE', tone: 'warn' }, ' for now'], 3],
        ],
      },
      { todo: [{ tone: 'bad', title: 'A job failed', reason: 'no disk', commands: ['df'] }] },
    ],
  },
];
const plain = `Lists
  list    state                   items
  ------  ----------------------  -----
  topics  fresh                      12
  people  NEVER COMPLETE for now      3
  - A job failed: no disk
    df`;

/** The text with stdout as a terminal, or not. */
function shown(isTerminal: boolean, env: Readonly<Record<string, string>> = {}, width?: number): string {
  // A pipe has no such property to spy on.
  process.stdout.isTTY ??= false;
  vi.spyOn(process.stdout, 'isTTY', 'get').mockReturnValue(isTerminal);
  for (const [name, value] of Object.entries({ NO_COLOR: '', TERM: 'xterm', ...env }))
    vi.stubEnv(name, value);
  return terminalText(view, width);
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

it('headings and badges have colours on a terminal, and all stands where it stands without', () => {
  const text = shown(true);
  expect(text).toContain('\u001b[1mLists\u001b[0m\n');
  expect(text).toContain('\u001b[32mfresh\u001b[0m  ');
  expect(text).toContain('\u001b[33mNEVER COMPLETE\u001b[0m for now');
  expect(text).toContain('- \u001b[31mA job failed\u001b[0m: no disk');
  expect(stripVTControlCharacters(text)).toBe(plain);
  expect(Math.max(...shown(true, {}, 24).split('\n').map(widthOf))).toBeLessThanOrEqual(26);
});

it.each([
  ['where stdout is not a terminal', false, {}],
  ['with NO_COLOR', true, { NO_COLOR: '1' }],
  ['on a dumb terminal', true, { TERM: 'dumb' }],
])('there are none %s', (_, isTerminal, env) => {
  expect(shown(isTerminal, env)).toBe(plain);
});
