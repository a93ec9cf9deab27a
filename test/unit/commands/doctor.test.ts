import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ExitCode } from '../../../src/base/errors.js';
import { type Check, checkPermissions, exitCodeOf, extensionsCheck } from '../../../src/commands/doctor.js';
import { testFolder } from '../../support/test-folders.js';

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

describe('extensions', () => {
  const missing = { state: 'missing' } as const;
  const httpfs = { state: 'loaded', path: null } as const;
  const found = { httpfs, avro: missing, iceberg: missing };
  const all = { httpfs, avro: httpfs, iceberg: httpfs };
  const avro = { state: 'unusable', path: '/x', problem: '/x is for DuckDB v1.5.6' } as const;

  it.each([
    ['none is needed', found, [], 'ok', 'present: httpfs; not present: avro, iceberg'],
    ['none is needed, and why any would be', found, [], 'ok', '(only a lake needs them)'],
    ['those needed are here', all, ['lake'], 'ok', 'present: httpfs, avro, iceberg'],
    ['some are missing', found, ['lake'], 'warn', 'lake needs avro, iceberg'],
    ['one is of another version', { ...found, avro }, ['lake'], 'fail', 'avro: /x is for DuckDB v1.5.6'],
    ['one that nothing needs is of another version', { ...found, avro }, [], 'warn', 'is for DuckDB v1.5.6'],
  ] as const)('%s', (_, states, uses, state, text) => {
    const check = extensionsCheck(states, uses);
    expect([check.state, check.text]).toEqual([state, expect.stringContaining(text)]);
    expect(check.hint === null).toBe(state === 'ok');
  });
});

describe('permissions', () => {
  const check = (dataDir: string, mode = '0600') =>
    checkPermissions({ dataDir, publish: { mode, also: [] } } as unknown as Parameters<
      typeof checkPermissions
    >[0]);

  it('names what other users can read, and the command that ends it', () => {
    const dataDir = join(testFolder(), 'data');
    mkdirSync(join(dataDir, 'inbox'), { recursive: true, mode: 0o700 });
    chmodSync(join(dataDir, 'inbox'), 0o700);
    for (const name of ['worker.duckdb', 'signals.duckdb', join('inbox', 'topics.csv')])
      writeFileSync(join(dataDir, name), '', { mode: 0o600 });
    expect(check(dataDir)).toMatchObject([{ state: 'ok' }]);
    chmodSync(join(dataDir, 'inbox', 'topics.csv'), 0o644);
    chmodSync(dataDir, 0o755);
    const [found] = check(dataDir);
    expect(found).toMatchObject({
      state: 'warn',
      text: `other users can read the directory itself, inbox/topics.csv in ${dataDir}`,
      hint: `chmod -R go= ${dataDir}`,
    });
  });
});
