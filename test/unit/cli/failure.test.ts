import { describe, expect, it } from 'vitest';
import {
  ContractError,
  LockedError,
  RefusedError,
  StorageError,
  UsageError,
} from '../../../src/base/errors.js';
import { errorText, reported } from '../../../src/cli/failure.js';

const where = { endpoint: 'topics', method: 'GET', path: '/topics?page=2' };

describe('an error', () => {
  it.each([
    [new UsageError('x'), 2],
    [new LockedError('x', 7), 4],
    [new RefusedError('x'), 5],
    [new StorageError('x'), 1],
    [new ContractError('x', where), 1],
    [new Error('x'), 1],
    ['x', 1],
  ])('%s has exit code %i', (error, exitCode) => {
    expect(reported(error)).toMatchObject({ exitCode, message: 'x' });
  });

  it('is told with every problem and what to do, within the columns that there are', () => {
    const problems = [
      {
        setting: 'SIGNALHOUSE_BASE_URL',
        problem: 'must be https: plain http would send the key unencrypted',
      },
      { setting: 'rateLimit.requests', problem: 'is not a number' },
    ];
    const text = errorText(
      reported(new UsageError('Two problems.', problems, { hint: 'See the README.' })),
      50,
    );
    expect(text.split('\n')).toEqual([
      'signalhouse: Two problems.',
      '  - SIGNALHOUSE_BASE_URL: must be https: plain',
      '    http would send the key unencrypted',
      '  - rateLimit.requests: is not a number',
      'See the README.',
    ]);
  });

  it('keeps the lines of its message, and cannot steer the terminal', () => {
    expect(errorText(reported(new UsageError('LINE 1: select\n        ^\n\u001b[31m')), 80)).toBe(
      'signalhouse: LINE 1: select\n        ^\n\\u001b[31m',
    );
  });

  it('that nobody foresaw says how to learn more', () => {
    expect(reported(new TypeError('oops')).hint).toContain('SIGNALHOUSE_LOG_LEVEL=debug');
    expect(reported(new StorageError('oops')).hint).toBeNull();
  });
});
