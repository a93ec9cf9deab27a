import { expect, test } from 'vitest';
import { resources } from '../../../src/contract/resources.js';
import { runsFor } from '../../../src/sync/run.js';

const runs = (left: number, byEndpoint: Record<string, number>) =>
  runsFor(
    left,
    {
      requests: {
        total: Object.values(byEndpoint).reduce((sum, one) => sum + one, 0),
        rateLimited: 0,
        byEndpoint,
      },
    },
    resources,
  );

test.each([
  ['a night that fetched details', 12_000, { whoami: 1, topics: 20, people: 100, topic_groups: 5_879 }, 3],
  ['a trial that mostly read lists', 8_000, { whoami: 1, topics: 20, people: 100, topic: 29 }, null],
  ['a run that ended in its lists', 8_000, { whoami: 1, topics: 2 }, null],
])('how many more runs it takes is said after %s', (_, left, byEndpoint, expected) => {
  expect(runs(left, byEndpoint)).toBe(expected);
});
