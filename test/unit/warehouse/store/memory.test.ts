import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { StorageError } from '../../../../src/base/errors.js';
import { openFile, openInstance } from '../../../../src/warehouse/store/engine.js';
import { outOfMemory } from '../../../../src/warehouse/store/faults.js';
import { largerLimits, memoryBounds, withMemoryHeadroom } from '../../../../src/warehouse/store/memory.js';
import { Session } from '../../../../src/warehouse/store/session.js';
import { emptyDir } from '../support.js';

async function sessionWith(memoryLimit: string, mostMemory: number): Promise<Session> {
  const dataDir = emptyDir();
  const path = join(dataDir, 'worker.duckdb');
  return openFile(path, { memoryLimit, mostMemory, threads: 1, access: 'write', dataDir });
}

const limitOf = async (session: Session) =>
  (await session.all<{ memory: string }>("SELECT current_setting('memory_limit') AS memory"))[0]?.memory;

/** What DuckDB raises, as it comes out of a session. */
const memoryError = () =>
  new StorageError('the warehouse ran out of memory', { cause: new Error('Out of Memory Error: no') });

describe('the limits', () => {
  test('leave room for Node on every machine, and never shrink as it grows', () => {
    const size = fc.integer({ min: 256_000_000, max: 1_000_000_000_000 });
    fc.assert(
      fc.property(size, size, (one, other) => {
        const small = memoryBounds(Math.min(one, other));
        const large = memoryBounds(Math.max(one, other));
        expect(small.worker).toBeGreaterThanOrEqual(128e6);
        expect(small.worker).toBeLessThanOrEqual(Math.max(128e6, one / 4, other / 4));
        expect(small.most).toBeGreaterThanOrEqual(small.worker);
        expect(small.worker).toBeLessThanOrEqual(large.worker);
        expect(small.query).toBeLessThanOrEqual(large.query);
        expect(small.most).toBeLessThanOrEqual(large.most);
      }),
    );
  });

  test.each([
    ['128MB', 600e6, ['256MB', '512MB', '600MB']],
    ['0.5GB', 2e9, ['1000MB', '2000MB']],
    ['1GB', 600e6, []],
    ['no size', 600e6, []],
  ])('after %s come larger ones, up to %d bytes', (limit, most, expected) => {
    expect(largerLimits(limit, most)).toEqual(expected);
  });
});

test.each([
  ['Out of Memory Error: failed to allocate data of size 8.0 MiB (121.9 MiB/122.0 MiB used)', true],
  ['FATAL Error: Failed to create checkpoint because of error: failed to pin block of size 1.0 MiB', true],
  ['TransactionContext Error: Failed to commit: could not allocate block of size 256.0 KiB', true],
  [
    'FATAL Error: Failed: database has been invalidated because of a previous fatal error.\nOriginal error: "failed to pin block"',
    true,
  ],
  ['FATAL Error: Failed: database has been invalidated because of a previous fatal error.', false],
  ['IO Error: Could not write file: No space left on device', false],
  ['Binder Error: column "failed to pin block" not found', false],
])('%s: about memory, %s', (text, expected) => {
  expect(outOfMemory(new Error(text))).toBe(expected);
  expect(outOfMemory(new StorageError('failed', { cause: new Error(text) }))).toBe(expected);
});

describe('work that needs more than the limit', () => {
  test('is repeated with more until it fits', async () => {
    const session = await sessionWith('64MB', 256e6);
    const before = await limitOf(session);
    const seen: (string | undefined)[] = [];
    const again = () =>
      withMemoryHeadroom(session, async () => {
        seen.push(await limitOf(session));
        if (seen.length < enough) throw memoryError();
        return 'done';
      });
    let enough = 2;
    expect(await again()).toBe('done');
    expect(seen.splice(0)).toEqual([before, '122.0 MiB']);
    enough = 3;
    expect(await again()).toBe('done');
    expect(seen).toEqual([before, '122.0 MiB', '244.1 MiB']);
    expect(await limitOf(session)).toBe(before);
    await session.close();
  });

  test('is repeated with more when even opening the file again needs more', async () => {
    const dataDir = emptyDir();
    const path = join(dataDir, 'one.duckdb');
    const opened: string[] = [];
    const open = async (memoryLimit: string) => {
      opened.push(memoryLimit);
      if (opened.length === 2) throw new Error('Out of Memory Error: could not allocate block');
      return openInstance(path, { memoryLimit, threads: 1, access: 'write', spill: dataDir });
    };
    const reopening = {
      memoryLimit: '64MB',
      largerLimits: (limit: string) => largerLimits(limit, 512e6),
      open,
    };
    const session = await Session.on(await open('64MB'), dataDir, reopening);
    await session.run('CREATE TABLE t AS SELECT 1 AS i');
    const invalidated = new Error(
      'FATAL Error: Failed to create checkpoint because of error: failed to pin block',
    );
    let times = 0;
    const rows = await withMemoryHeadroom(session, async () => {
      times += 1;
      if (times === 1) throw new StorageError('the warehouse ran out of memory', { cause: invalidated });
      return session.all('SELECT * FROM t');
    });
    expect(rows).toEqual([{ i: 1 }]);
    expect(opened).toEqual(['64MB', '128MB', '256MB']);
    await session.close();
  });

  test('fails for another reason, or with the largest limit', async () => {
    const session = await sessionWith('64MB', 128e6);
    let times = 0;
    const failing = (error: unknown) => () => {
      times += 1;
      return Promise.reject(error);
    };
    await expect(withMemoryHeadroom(session, failing(new Error('something else')))).rejects.toThrow(
      'something else',
    );
    expect(times).toBe(1);
    await expect(withMemoryHeadroom(session, failing(memoryError()))).rejects.toThrow('out of memory');
    expect(times).toBe(3);
    await session.close();
  });
});
