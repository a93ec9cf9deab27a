import { expect, it } from 'vitest';
import { plansIn, simulate } from '../support/simulate.js';

/** Short lives in which each night asks for one kind of thing: a planted bug shows in them sooner than in a seed. */
it.concurrent.each(plansIn('plans'))('nights made by hand: $name', async ({ args }) => {
  const { code, printed } = await simulate(args);
  expect({ code, printed }).toEqual({ code: 0, printed: expect.any(String) });
});
