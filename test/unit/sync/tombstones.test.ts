import { expect, test } from 'vitest';
import { tripsFuse } from '../../../src/sync/tombstones.js';

const limits = { maxShare: 0.2, maxRows: 20 };

test.each([
  [{ missing: 0, stored: 0, returned: 0 }, false, 'nothing stored, nothing returned'],
  [{ missing: 5, stored: 5, returned: 0 }, true, 'empty where there were rows, however few'],
  [{ missing: 20, stored: 40, returned: 20 }, false, 'half of them, but not more than 20'],
  [{ missing: 21, stored: 1_000, returned: 979 }, false, 'more than 20, but not a fifth'],
  [{ missing: 201, stored: 1_000, returned: 799 }, true, 'more than 20 and more than a fifth'],
  [{ missing: 200, stored: 1_000, returned: 800 }, false, 'a fifth is allowed'],
])('the deletion limit %j: %s (%s)', (count, trips) => {
  expect(tripsFuse(count, limits)).toBe(trips);
});
