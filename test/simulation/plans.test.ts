import { expect, it } from 'vitest';
import { plans, simulate } from '../support/simulate.js';

/** Short lives, made by hand, in which each night asks for one kind of thing, and what failed once. */
it.concurrent.each(plans())(
  'nights of a plan: $name',
  async ({ args }) => {
    const { code, printed } = await simulate(args);
    expect({ code, printed }).toEqual({ code: 0, printed: expect.any(String) });
  },
  // As those of the project simulation: beside other tests, eight nights take minutes on a busy machine.
  900_000,
);
