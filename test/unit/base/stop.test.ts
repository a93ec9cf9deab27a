import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Stop } from '../../../src/base/stop.js';

it('does not end at once when it may take longer than a timer can', async () => {
  const long = new Stop({ maxMinutes: 40_000 });
  const short = new Stop({ maxMinutes: 0.0001 });
  await delay(50);
  expect([long.signal.aborted, short.signal.aborted]).toEqual([false, true]);
  for (const stop of [long, short]) stop.release();
});
