import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import { migrate, readMigrations } from '../../../src/warehouse/migrate.js';
import {
  checkModels,
  type Model,
  parseModel,
  readModels,
  tableColumns,
} from '../../../src/warehouse/models.js';
import { Session } from '../../../src/warehouse/session.js';
import { emptyDir } from './support.js';

async function migrated(): Promise<Session> {
  const session = await Session.on(await DuckDBInstance.create(), '.');
  onTestFinished(() => session.close());
  await migrate(session, readMigrations());
  return session;
}

test('every model of the project fits its table, both ways, and every table of main has one', async () => {
  const session = await migrated();
  const models = readModels();
  expect(await checkModels(session, models)).toEqual([]);
  const filled = [...models.documents, ...models.derived].map(({ table }) => table);
  expect(filled.sort()).toEqual([...(await tableColumns(session)).keys()].sort());
});

describe('a header', () => {
  const header = '-- table: topic_people\n-- key: topic_id, person_id\n';

  test('of documents and of tables', () => {
    const text = `${header}-- documents: a, b\n-- scope: parent_id -> topic_id\n\n-- words\nSELECT 1;\n`;
    expect(parseModel('x', text)).toMatchObject({
      ...{
        name: 'x',
        table: 'topic_people',
        key: ['topic_id', 'person_id'],
        from: 'documents',
        documents: ['a', 'b'],
      },
      scope: { document: 'parent_id', column: 'topic_id' },
      select: expect.stringMatching(/SELECT 1$/),
    });
    expect(parseModel('x', `${header}-- derived: messages, authors\nSELECT 1`)).toMatchObject({
      ...{ from: 'tables', derived: ['messages', 'authors'] },
    });
  });

  test.each([
    ['-- key: id\n-- documents: a\n-- scope: id -> id\nSELECT 1', /does not say its table/],
    ['-- table: t\n-- documents: a\n-- scope: id -> id\nSELECT 1', /does not say its key/],
    [`${header}-- scope: id -> id\nSELECT 1`, /does not say its documents/],
    [`${header}-- documents: a\nSELECT 1`, /needs a scope/],
    [`${header}-- documents: a\n-- scope: body -> id\nSELECT 1`, /needs a scope/],
  ])('that is not complete is refused', (text, message) => {
    expect(() => parseModel('x', text)).toThrow(message);
  });

  test('derived models come after those they read, and not in a circle', () => {
    const folder = (models: Record<string, string>) => {
      const path = join(emptyDir(), 'models');
      mkdirSync(path);
      for (const [table, from] of Object.entries(models)) {
        writeFileSync(
          join(path, `${table}.sql`),
          `-- table: ${table}\n-- key: id\n-- derived: ${from}\nSELECT 1`,
        );
      }
      return path;
    };
    const order = readModels(folder({ a: 'b, messages', b: 'c', c: 'messages' })).derived;
    expect(order.map(({ table }) => table)).toEqual(['c', 'b', 'a']);
    expect(() => readModels(folder({ a: 'b', b: 'a' }))).toThrow(/read each other: a, b/);
  });
});

test('what does not fit is said in words', async () => {
  const session = await migrated();
  const of = (select: string, more: Partial<Model> = {}): Model => ({
    ...{
      name: 'x',
      table: 'authors',
      key: ['id'],
      select,
      checksum: '',
      from: 'documents' as const,
      documents: ['authors'],
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
    'model x computes mood, which authors has not',
  ]);
  expect(await check(of(right.replace('NULL::BOOLEAN', 'NULL::VARCHAR')))).toEqual([
    'model x computes is_bot as VARCHAR, not BOOLEAN',
  ]);
  expect(await check(of(right, { key: ['nobody'] }))).toEqual([
    'model x names nobody, which authors has not',
  ]);
});
