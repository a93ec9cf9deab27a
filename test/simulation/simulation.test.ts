import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const seeds = fileURLToPath(new URL('seeds/', import.meta.url));

/** Runs a simulation in a process of its own: it replaces the clocks of the one that it runs in. */
function simulate(args: readonly string[]): Promise<{ code: number | null; printed: string }> {
  const child = spawn(process.execPath, [`${root}scripts/simulate.mjs`, ...args], { stdio: 'pipe' });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, printed })));
}

it.concurrent('the same seed gives the same requests, answers and results', async () => {
  // One that meets memory errors.
  const once = () => simulate(['--seed', '56', '--nights', '1']);
  const [first, second] = await Promise.all([once(), once()]);
  const [line = ''] = /^seed 56, 1 nights: [0-9a-f]{16}/.exec(first.printed) ?? [];
  expect([first, second]).toEqual(
    [first, second].map(() => ({ code: 0, printed: expect.stringContaining(line || 'a hash') })),
  );
});

/** Plans that failed once, by the seed of their organization: SEED-what-was-wrong.json. */
it.concurrent.each(readdirSync(seeds).filter((name) => name.endsWith('.json')))(
  'what failed once: %s',
  async (name) => {
    const { code, printed } = await simulate([
      '--seed',
      name.split('-')[0] ?? '',
      '--plan',
      `${seeds}${name}`,
    ]);
    expect({ code, printed }).toEqual({ code: 0, printed: expect.any(String) });
  },
);
