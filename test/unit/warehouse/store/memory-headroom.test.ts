import { join } from 'node:path';
import { expect, test } from 'vitest';
import { StorageError } from '../../../../src/base/errors.js';
import { openFile } from '../../../../src/warehouse/store/engine.js';
import { withMemoryHeadroom } from '../../../../src/warehouse/store/memory-headroom.js';
import type { Session } from '../../../../src/warehouse/store/session.js';
import { emptyDir } from '../support.js';

async function sessionWith(memoryLimit: string): Promise<Session> {
  const dataDir = emptyDir();
  return openFile(join(dataDir, 'worker.duckdb'), { memoryLimit, threads: 1, access: 'write', dataDir });
}

const limitOf = async (session: Session) =>
  (await session.all<{ memory: string }>("SELECT current_setting('memory_limit') AS memory"))[0]?.memory;

/** What DuckDB raises, as it comes out of a session. */
const outOfMemory = () =>
  new StorageError('the warehouse ran out of memory', { cause: new Error('Out of Memory Error: no') });

test('work that needs more than the configured memory is repeated with more until it fits', async () => {
  const session = await sessionWith('64MB');
  const before = await limitOf(session);
  const seen: (string | undefined)[] = [];
  const again = () =>
    withMemoryHeadroom(session, async () => {
      seen.push(await limitOf(session));
      if (seen.length < enough) throw outOfMemory();
      return 'done';
    });
  let enough = 2;
  expect(await again()).toBe('done');
  expect(seen.splice(0)).toEqual([before, '244.1 MiB']);
  enough = 3;
  expect(await again()).toBe('done');
  expect(seen).toEqual([before, '244.1 MiB', '488.2 MiB']);
  expect(await limitOf(session)).toBe(before);
  await session.close();
});

test('work that fails for another reason, or with the largest limit, fails', async () => {
  const small = await sessionWith('64MB');
  let times = 0;
  const broken = withMemoryHeadroom(small, async () => {
    times += 1;
    throw new Error('something else');
  });
  await expect(broken).rejects.toThrow('something else');
  expect(times).toBe(1);
  await small.close();

  const large = await sessionWith('1GB');
  const hopeless = withMemoryHeadroom(large, async () => {
    times += 1;
    throw outOfMemory();
  });
  await expect(hopeless).rejects.toThrow('out of memory');
  expect(times).toBe(2);
  await large.close();
});
