import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/base/errors.js';
import { fromSheet, fromSql } from '../../../../src/push/import/source.js';
import { maxFileBytes } from '../../../../src/sheet/grid.js';
import { openPublished, type Snapshot } from '../../../../src/warehouse/read/query.js';
import { emptyDir, limits, ready } from '../../warehouse/support.js';
import { town } from './support.js';

let snapshot: Snapshot;
beforeAll(async () => {
  const dir = await ready();
  const warehouse = await town(dir);
  await warehouse.publish();
  await warehouse.close();
  snapshot = await openPublished(dir, limits);
});
afterAll(() => snapshot.close());

describe('SQL', () => {
  it('gives its rows, numbered from 1, and no hash: it may be meant again', async () => {
    const sql =
      "SELECT id AS topic_id, 'low' AS priority, true AS archived, 1.5 AS n, 9007199254740991 AS i, [1] AS l, NULL AS e FROM topics WHERE id = 't1'; -- mine";
    expect(await fromSql(snapshot, sql)).toEqual({
      name: 'SQL',
      hash: null,
      grid: {
        columns: ['topic_id', 'priority', 'archived', 'n', 'i', 'l', 'e'],
        headerRow: 0,
        rows: [{ number: 1, cells: ['t1', 'low', true, '1.5', '9007199254740991', '[1]', null] }],
        notes: [],
      },
    });
  });

  it.each([
    'SELECT 1; SELECT 2',
    'DROP TABLE topics',
    "UPDATE topics SET priority = 'low'",
    'SELEC 1',
    '',
    '-- nothing',
  ])('%j is refused', async (sql) => {
    await expect(fromSql(snapshot, sql)).rejects.toThrow(UsageError);
  });
});

describe('a file', () => {
  it('is known by its name and content, also from a stream', async () => {
    const path = join(emptyDir(), 'list.csv');
    writeFileSync(path, 'topic_id\nt1\n');
    const file = await fromSheet({ path });
    const pieces = async function* () {
      yield Buffer.from('topic_id\n');
      yield Buffer.from('t1\n');
    };
    const stream = await fromSheet({ stream: pieces(), name: 'standard input' });
    expect({ ...stream, name: 'list.csv' }).toEqual(file);
    expect(stream.name).toBe('standard input');
    writeFileSync(path, 'topic_id\nt2\n');
    expect((await fromSheet({ path })).hash).not.toBe(file.hash);
  });

  it('without an end is not read to its end', async () => {
    let read = 0;
    const endless = async function* () {
      for (;;) {
        read += 1 << 20;
        yield Buffer.alloc(1 << 20);
      }
    };
    await expect(fromSheet({ stream: endless(), name: 'standard input' })).rejects.toThrow(
      'standard input is larger than 50 MB',
    );
    expect(read).toBeLessThan(maxFileBytes + (4 << 20));
  });
});
