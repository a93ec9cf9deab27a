import { expect, it } from 'vitest';
import type { ExitCode } from '../../../src/base/errors.js';
import { type Check, exitCodeOf } from '../../../src/cli/doctor.js';

const check = (state: Check['state'], exitCode: ExitCode): Check => {
  return { name: state, state, text: '', hint: null, exitCode };
};

it('the exit code of many checks is that of the one to fix first', () => {
  const [settings, key, lock, disk] = [
    check('fail', 2),
    check('fail', 5),
    check('fail', 4),
    check('fail', 1),
  ];
  expect(exitCodeOf([disk, lock, key, settings])).toBe(2);
  expect(exitCodeOf([disk, lock, key])).toBe(5);
  expect(exitCodeOf([disk, lock])).toBe(4);
  expect(exitCodeOf([check('ok', 0), disk])).toBe(1);
  expect(exitCodeOf([check('ok', 0), check('warn', 0)])).toBe(0);
});
