import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkModels, noteMatchingModels } from '../../../../src/warehouse/load/checks.js';
import { type Model, readModels } from '../../../../src/warehouse/load/models.js';
import { migrate, readMigrations } from '../../../../src/warehouse/store/migrate.js';
import { Session } from '../../../../src/warehouse/store/session.js';
import { emptyDir } from '../support.js';

let session: Session;
beforeAll(async () => {
  session = await Session.on(await DuckDBInstance.create(), '.');
  await migrate(session, readMigrations());
});
afterAll(() => session.close());

test('the build notes that the models of the program match its tables', async () => {
  const dist = emptyDir();
  await noteMatchingModels(dist);
  expect(readdirSync(dist)).toEqual([expect.stringMatching(/^models-[0-9a-f]{16}$/)]);
});

test('derived models come after those they read, and not in a circle', () => {
  const folder = (models: Record<string, string>) => {
    const sql = emptyDir();
    const path = join(sql, 'models');
    mkdirSync(path);
    for (const [table, from] of Object.entries(models)) {
      writeFileSync(
        join(path, `${table}.sql`),
        `-- table: ${table}\n-- key: id\n-- derived: ${from}\nSELECT 1`,
      );
    }
    return sql;
  };
  const order = readModels(folder({ a: 'b, messages', b: 'c', c: 'messages' })).derived;
  expect(order.map(({ table }) => table)).toEqual(['c', 'b', 'a']);
  expect(() => readModels(folder({ a: 'b', b: 'a' }))).toThrow(/read each other: a, b/);
});

test('problems are reported as sentences', async () => {
  const of = (select: string, more: Partial<Model> = {}): Model => ({
    ...{
      name: 'x',
      table: 'authors',
      key: ['id'],
      select,
      checksum: '',
      from: 'documents' as const,
      documents: ['authors'],
      siblings: true,
    },
    ...{ scope: { document: 'id' as const, column: 'id' }, ...(more as object) },
  });
  const check = (model: Model) =>
    checkModels(session, { documents: model.from === 'documents' ? [model] : [], derived: [] });
  const right = `SELECT id, NULL::VARCHAR AS display_name, NULL::BOOLEAN AS is_bot, NULL::VARCHAR AS source_name,
    NULL::VARCHAR AS source_author_id, NULL::VARCHAR AS source_avatar_url, fetched_at AS synced_at, run_id FROM documents`;
  expect(await check(of(right))).toEqual([]);
  expect(await check(of(right, { table: 'nowhere' }))).toEqual(['model x: there is no table nowhere']);
  expect(await check(of(right.replace('NULL::BOOLEAN AS is_bot,', "'a' AS mood,")))).toEqual([
    'model x does not compute authors.is_bot',
    'model x computes mood, which is not in authors',
  ]);
  expect(await check(of(right.replace('NULL::BOOLEAN', 'NULL::VARCHAR')))).toEqual([
    'model x computes is_bot as VARCHAR, not BOOLEAN',
  ]);
  expect(await check(of(right, { key: ['nobody'] }))).toEqual([
    'model x names nobody, which is not in authors',
  ]);
});
