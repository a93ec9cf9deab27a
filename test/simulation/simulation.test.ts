import { expect, it } from 'vitest';
import { plansIn, simulate } from '../support/simulate.js';

it.concurrent('the same seed gives the same requests, answers and results', async () => {
  // One that meets memory errors.
  const once = () => simulate(['--seed', '56', '--nights', '1']);
  const [first, second] = await Promise.all([once(), once()]);
  const [line = ''] = /^seed 56, 1 nights: [0-9a-f]{16}/.exec(first.printed) ?? [];
  expect([first, second]).toEqual(
    [first, second].map(() => ({ code: 0, printed: expect.stringContaining(line || 'a hash') })),
  );
});

/** Plans that failed once. */
it.concurrent.each(plansIn('seeds'))('what failed once: $name', async ({ args }) => {
  const { code, printed } = await simulate(args);
  expect({ code, printed }).toEqual({ code: 0, printed: expect.any(String) });
});
