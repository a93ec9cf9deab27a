import { appendFileSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import { column } from '../../../src/contract/columns.js';
import { integer, object, text } from '../../../src/contract/fields.js';
import type { TableEntry } from '../../../src/contract/table-entry.js';
import { tableEntries, tablesOf } from '../../../src/contract/tables.js';
import { batchOf } from '../../../src/load/batch.js';
import { readModels } from '../../../src/load/models.js';
import type { OpenOptions } from '../../../src/load/open.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { readContents } from '../../../src/read/status.js';
import { sqlDir } from '../../../src/store/sql.js';
import { loadBatch } from '../../support/load-batch.js';
import { at, doc, emptyDir, limits, open, ready } from '../../support/open-warehouse.js';

const [first, second] = ['20260101T000000000Z-0001', '20260102T000000000Z-0001'];

/** The models of the program with other tables. */
const modelsWith = (entries: Readonly<Record<string, TableEntry>>) => ({
  models: readModels(sqlDir, tablesOf({ ...tableEntries, ...entries })),
});

const { topics } = tableEntries;
const votes = object({ votes: integer.describe('Votes for the topic.') });
const withVotes = modelsWith({ topics: { ...topics, fields: [...topics.fields, votes] } });

let dir: string;
const now = at(100);

async function using<T>(
  options: Partial<OpenOptions>,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const clock = { ...systemClock, now: () => now.getTime() };
  const warehouse = await open(dir, { clock, ...options });
  try {
    return await work(warehouse);
  } finally {
    await warehouse.close();
  }
}

const rows = (options: Partial<OpenOptions>, columns: string) =>
  using(options, (warehouse) => warehouse.all(`SELECT ${columns} FROM topics ORDER BY id`));
const remade = (options: Partial<OpenOptions> = {}) => using(options, async (warehouse) => warehouse.remade);

/** A data directory of the program as it is: three topics, of which the second run changed one. */
let made: string;
beforeAll(async () => {
  dir = await ready();
  await using({}, async (warehouse) => {
    const topic = (id: string, second: number, count: number) =>
      doc('topics', id, second, { title: `Title of ${id}`, votes: count });
    const without = doc('topics', 't3', 1, { title: 'Title of t3' });
    await loadBatch(
      warehouse,
      batchOf(first, { documents: [topic('t1', 1, 3), topic('t2', 1, 5), without] }),
    );
    await loadBatch(warehouse, batchOf(second, { documents: [topic('t2', 2, 7)] }));
    await warehouse.publish();
  });
  made = dir;
});
beforeEach(() => {
  dir = emptyDir();
  cpSync(made, dir, { recursive: true });
});

test('a table with one more column is made again from the documents; rows with a value in it change now', async () => {
  const before = await rows({}, '* EXCLUDE (synced_at, run_id)');
  const versions = (warehouse: Warehouse) => warehouse.all('SELECT * FROM topic_versions ORDER BY ALL');
  const versionsBefore = await using({}, versions);
  expect(await remade()).toEqual([]);
  // What it lacks cannot be read until a writer has opened it.
  await expect(open(dir, { ...withVotes, access: 'read' })).rejects.toThrow(/which has other tables: topics/);
  expect(await remade(withVotes)).toEqual(['topics']);
  expect(await remade(withVotes)).toEqual([]);
  expect(await rows(withVotes, '* EXCLUDE (votes, synced_at, run_id)')).toEqual(before);
  expect(await rows(withVotes, 'id, votes, synced_at, run_id')).toEqual([
    { id: 't1', votes: 3, synced_at: now, run_id: second },
    { id: 't2', votes: 7, synced_at: at(2), run_id: second },
    { id: 't3', votes: null, synced_at: at(1), run_id: first },
  ]);
  expect(await using(withVotes, versions)).toEqual(versionsBefore);
  const [comment] = await using(withVotes, (warehouse) =>
    warehouse.all(
      "SELECT comment FROM duckdb_columns() WHERE table_name = 'topics' AND column_name = 'votes'",
    ),
  );
  expect(comment).toEqual({ comment: 'Votes for the topic.' });
});

test('another type, a column less, and another comment are made likewise, and so is going back', async () => {
  const fewer = modelsWith({
    topics: {
      comment: 'Few.',
      key: ['id'],
      documents: ['topics'],
      ids: { id: 'id' },
      fields: [object({ title: text('none').describe('Another comment.') })],
      columns: {
        id: { kind: 'topic_id', comment: 'Id.' },
        votes: { path: 'votes', kind: 'none', comment: 'As text.' },
      },
    },
  });
  const before = await rows({}, '* EXCLUDE (synced_at, run_id)');
  expect(await remade(withVotes)).toEqual(['topics']);
  expect(await remade(fewer)).toEqual(['topics']);
  expect(await rows(fewer, '*')).toEqual([
    { id: 't1', title: 'Title of t1', votes: '3', synced_at: now, run_id: second },
    { id: 't2', title: 'Title of t2', votes: '7', synced_at: now, run_id: second },
    { id: 't3', title: 'Title of t3', votes: null, synced_at: at(1), run_id: first },
  ]);
  expect(await remade()).toEqual(['topics']);
  expect(await rows({}, '* EXCLUDE (synced_at, run_id)')).toEqual(before);
});

test('a new table is filled from what is stored, and one that is not declared any more goes', async () => {
  const more = modelsWith({
    topic_votes: {
      comment: 'Votes.',
      key: ['id'],
      documents: ['topics'],
      ids: { id: 'id' },
      siblings: false,
      fields: [votes],
      columns: { id: { kind: 'topic_id', comment: 'The topic (topics.id).' } },
    },
  });
  expect(await remade(more)).toEqual(['topic_votes']);
  const found = await using(more, (warehouse) =>
    warehouse.all('SELECT id, votes, run_id FROM topic_votes ORDER BY id'),
  );
  expect(found).toEqual([
    { id: 't1', votes: 3, run_id: second },
    { id: 't2', votes: 7, run_id: second },
    { id: 't3', votes: null, run_id: second },
  ]);
  expect(await remade()).toEqual(['topic_votes']);
  await expect(using({}, (warehouse) => warehouse.all('FROM topic_votes'))).rejects.toThrow(/topic_votes/);
});

test('a table whose file in sql/models differs is made again', async () => {
  const sql = emptyDir();
  cpSync(sqlDir, sql, { recursive: true });
  appendFileSync(join(sql, 'models/group_people.sql'), '-- another text\n');
  expect(await remade({ sql })).toEqual(['group_people']);
  expect(await remade({ sql })).toEqual([]);
});

test('a publication after that has tables that are derived from it', async () => {
  const mergedInto = { id: 'm1', mergedAt: '2026-01-01T00:00:00Z', targetTopic: { id: 't2', title: 'Old' } };
  const other = object({ other: column('title', text('topic_title')).describe('Title.') });
  const renamed = modelsWith({ topics: { ...topics, fields: [other, ...topics.fields] } });
  const targets = (options: Partial<OpenOptions>) =>
    using(options, async (warehouse) => {
      await warehouse.publish();
      return warehouse.all('SELECT target_name FROM merges');
    });
  await using({}, (warehouse) =>
    loadBatch(
      warehouse,
      batchOf(second, {
        documents: [
          doc('topic_merges', 't1', 3, { mergedInto }),
          doc('topics', 't2', 3, { title: 'Title', other: 'Other title' }),
        ],
      }),
    ),
  );
  expect(await targets({})).toEqual([{ target_name: 'Title' }]);
  expect(await targets(renamed)).toEqual([{ target_name: 'Other title' }]);
});

test('what a killed process began is made again', async () => {
  await remade(withVotes);
  await using(withVotes, async (warehouse) => {
    await warehouse.run("UPDATE ops.migrations SET checksum = '' WHERE name = 'topics'");
    await warehouse.run('UPDATE topics SET votes = NULL');
  });
  expect(await remade(withVotes)).toEqual(['topics']);
  expect(await rows(withVotes, 'votes')).toEqual([{ votes: 3 }, { votes: 7 }, { votes: null }]);
});

test('status names the tables that were made again, and none of a new warehouse', async () => {
  const shown = async () => (await readContents(dir, limits)).remade.map(({ table }) => table);
  expect(await shown()).toEqual([]);
  await using(withVotes, async (warehouse) => {
    await warehouse.startRun({ command: 'sync', startedAt: new Date(), programVersion: 'test' });
    await warehouse.publish();
  });
  expect(await shown()).toEqual(['topics']);
});

test('a snapshot that is restored says with which declarations its tables were made', async () => {
  rmSync(join(dir, 'worker.duckdb'));
  const restored = await using(withVotes, async (warehouse) => [
    warehouse.restored?.snapshotFrom,
    warehouse.remade,
  ]);
  expect(restored).toEqual([expect.any(Date), ['topics']]);
  expect(await rows(withVotes, 'votes')).toEqual([{ votes: 3 }, { votes: 7 }, { votes: null }]);
  await using(withVotes, (warehouse) => warehouse.publish());
  rmSync(join(dir, 'worker.duckdb'));
  expect(await remade(withVotes)).toEqual([]);
});
