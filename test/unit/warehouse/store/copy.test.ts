import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cloneFile, compareCounts } from '../../../../src/warehouse/store/copy.js';
import { openFile } from '../../../../src/warehouse/store/engine.js';
import type { Session } from '../../../../src/warehouse/store/session.js';
import { emptyDir, limits } from '../support.js';

let dir: string;
let file: string;
let session: Session;
beforeEach(async () => {
  dir = emptyDir();
  file = join(dir, 'worker.duckdb');
  session = await openFile(file, { ...limits, access: 'write', dataDir: dir });
  await session.run('CREATE TABLE numbers AS SELECT range AS n FROM range(100_000); CHECKPOINT');
});
afterEach(() => session.close());

const counted = async (path: string) => {
  const copy = await openFile(path, { ...limits, access: 'read', dataDir: dir });
  try {
    return await copy.all('SELECT count(*) AS rows, sum(n)::BIGINT AS sum FROM numbers');
  } finally {
    await copy.close();
  }
};

test('the copy has everything, for this user alone, and the file stays locked', async () => {
  const to = join(dir, 'copy.duckdb');
  expect(await cloneFile(session, file, to)).toBe(true);
  expect(statSync(to).mode & 0o777).toBe(0o600);
  expect(await counted(to)).toEqual([{ rows: 100_000, sum: 4_999_950_000 }]);
  const tried = execFileSync(
    process.execPath,
    [fileURLToPath(new URL('lock-tried.mjs', import.meta.url)), file],
    { encoding: 'utf8' },
  );
  expect(tried).toContain('Could not set lock');
});

test('statements that are asked for meanwhile run after it, and are not in it', async () => {
  const to = join(dir, 'copy.duckdb');
  const cloned = cloneFile(session, file, to);
  const more = session.run('INSERT INTO numbers VALUES (1)');
  expect(await cloned).toBe(true);
  await more;
  expect(await counted(to)).toEqual([{ rows: 100_000, sum: 4_999_950_000 }]);
});

test('a copy that fails leaves nothing behind, and the session works on', async () => {
  const to = join(dir, 'missing', 'copy.duckdb');
  expect(await cloneFile(session, file, to)).toBe(false);
  expect(existsSync(to)).toBe(false);
  // Never over something that is there.
  const taken = join(dir, 'taken.duckdb');
  writeFileSync(taken, 'not ours');
  expect(await cloneFile(session, file, taken)).toBe(false);
  expect(readFileSync(taken, 'utf8')).toBe('not ours');
  expect(await session.all('SELECT count(*) AS rows FROM numbers')).toEqual([{ rows: 100_000 }]);
});

test('a copy with fewer rows is refused, and the table is named', async () => {
  await session.run("ATTACH ':memory:' AS other; CREATE TABLE other.numbers AS SELECT 1 AS n");
  const [here] = await session.all<{ name: string }>('SELECT current_database() AS name');
  await expect(compareCounts(session, here?.name ?? '', 'other')).rejects.toThrow(
    'the copy has 1 of 100000 rows of main.numbers',
  );
  await session.run('INSERT INTO other.numbers SELECT unnest(range(99_999))');
  expect(await compareCounts(session, here?.name ?? '', 'other')).toBe(1);
});
