import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifiedStore, verifyIsDue } from '../../../src/app/verify.js';
import { testFolder } from '../../support/test-folders.js';
import { setupOf } from './support.js';

it.each([
  ['a day ago', -1, false],
  ['eight days ago', -8, true],
  // By a clock that was ahead: it would not be rehearsed for more than two weeks.
  ['in ten days', 10, true],
] as const)('a restore that was rehearsed %s', async (_when, days, isDue) => {
  const now = Date.parse('2026-11-20T10:15:00Z');
  const setup = setupOf(testFolder(), {}, now);
  writeFileSync(join(setup.config.dataDir, 'signals.duckdb'), '');
  const at = new Date(now + days * 86_400_000).toISOString();
  await verifiedStore(setup).save({ at, seconds: 1, outcome: 'equal', problem: null, differences: [] });
  expect(await verifyIsDue(setup)).toBe(isDue);
});
