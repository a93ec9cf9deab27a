import { describe, expect, test } from 'vitest';
import { blowsFuse } from '../../../src/sync/missing.js';

const limits = { maxShare: 0.2, maxRows: 20 };

describe('the fuse', () => {
  test.each([
    [{ missing: 0, known: 0, shown: 0 }, false, 'nothing known, nothing shown'],
    [{ missing: 5, known: 5, shown: 0 }, true, 'empty where there were rows, however few'],
    [{ missing: 20, known: 40, shown: 20 }, false, 'half of them, but not more than 20'],
    [{ missing: 21, known: 1_000, shown: 979 }, false, 'more than 20, but not a fifth'],
    [{ missing: 201, known: 1_000, shown: 799 }, true, 'more than 20 and more than a fifth'],
    [{ missing: 200, known: 1_000, shown: 800 }, false, 'a fifth is allowed'],
  ])('%j: %s (%s)', (found, blown) => {
    expect(blowsFuse(found, limits)).toBe(blown);
  });
});
