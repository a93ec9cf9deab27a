import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tablesOf } from '../../../src/contract/tables.js';
import {
  columnNames,
  projection,
  readModels,
  validityColumns,
  versionsOf,
} from '../../../src/load/models.js';
import { createTables } from '../../../src/load/remake.js';
import { migrate, readMigrations } from '../../../src/store/migrate.js';
import { Session } from '../../../src/store/session.js';
import { emptyDir } from '../../support/open-warehouse.js';

let session: Session;
beforeAll(async () => {
  session = await Session.on(() => DuckDBInstance.create(), '.');
  await migrate(session, readMigrations(), (tx) => createTables(tx, readModels()));
});
afterAll(() => session.close());

/** What a SELECT computes otherwise than its table has it. */
async function differences(table: string, select: string, notComputed: readonly string[] = []) {
  const columnsOf = async (what: string) => {
    const described = await session.all<{ column_name: string; column_type: string }>(`DESCRIBE ${what}`);
    return described.map(({ column_name: name, column_type: type }) => ({ name, text: `${name} ${type}` }));
  };
  const computed = (await columnsOf(select)).map(({ text }) => text);
  const stored = (await columnsOf(`main.${table}`)).filter(({ name }) => !notComputed.includes(name));
  const wanted = stored.map(({ text }) => text);
  return [
    ...wanted.filter((column) => !computed.includes(column)).map((column) => `${table} lacks ${column}`),
    ...computed.filter((column) => !wanted.includes(column)).map((column) => `${table} has no ${column}`),
  ];
}

test('each model computes every column of its table, with its type, and no other', async () => {
  const { documents, derived } = readModels();
  const tables = [...documents, ...derived].map(({ table }) => table);
  expect(new Set(tables).size).toBe(tables.length);
  const problems: string[] = [];
  for (const model of [...documents, ...derived]) {
    // Whoever replaces the rows says when and in which run they changed.
    const stamps = model.from === 'documents' ? ['run_id'] : ['run_id', 'synced_at'];
    problems.push(...(await differences(model.table, projection(model, 'FROM raw.documents'), stamps)));
    const names = await columnNames(session, model.table);
    const named = [...model.key, ...(model.from === 'documents' ? [model.scope.column] : [])];
    problems.push(
      ...named.filter((name) => !names.includes(name)).map((name) => `${model.table} names ${name}`),
    );
    if (model.from !== 'documents' || !model.versions) continue;
    const { versions } = model;
    const columns = await columnNames(session, versions.table);
    const select = versionsOf(versions, columns, `FROM main.${model.table}`);
    problems.push(...(await differences(versions.table, select, ['valid_to'])));
    expect(columns).toEqual(expect.arrayContaining([versions.key, ...validityColumns]));
  }
  expect(problems).toEqual([]);
});

test('an account that several answers give to different people belongs to the one of whom the latest says so', async () => {
  const account = { id: 'a', platform: 'slack', platformId: 'U1', platformUsername: null };
  const document = (endpoint: string, id: string, parentId: string, body: object, answerNo: number) =>
    session.run(
      `INSERT INTO raw.documents BY NAME SELECT $endpoint AS endpoint, $id AS id, $parent AS parent_id, $body AS body, md5($body) AS body_hash, now() AS fetched_at, '1' AS run_id, ${answerNo} AS answer_no`,
      { endpoint, id, parent: parentId, body: JSON.stringify(body) },
    );
  const model = readModels().derived.find(({ table }) => table === 'person_identities');
  if (!model) throw new Error('there is a model of person_identities');
  const owners = () => session.all(`SELECT person_id FROM (${projection(model, 'FROM raw.documents')})`);
  await document('person_identities', 'slack:U1', '1', account, 1);
  await document('person_identities', 'slack:U1', '2', account, 2);
  expect(await owners()).toEqual([{ person_id: '2' }]);
  await document('topic_people', '3', 'talk', { identities: [account] }, 3);
  expect(await owners()).toEqual([{ person_id: '3' }]);
  await session.run('DELETE FROM raw.documents');
});

test('derived models come after those they read, and not in a circle', () => {
  const folder = emptyDir();
  mkdirSync(join(folder, 'models'));
  const declared = (models: Record<string, [string, ...string[]]>) => {
    for (const table of Object.keys(models))
      writeFileSync(join(folder, 'models', `${table}.sql`), 'SELECT 1');
    const entries = Object.entries(models).map(([table, derived]) => [
      table,
      { key: ['id'] as const, derived },
    ]);
    return readModels(folder, tablesOf(Object.fromEntries(entries))).derived;
  };
  const order = declared({ a: ['b', 'messages'], b: ['c'], c: ['messages'] });
  expect(order.map(({ table }) => table)).toEqual(['c', 'b', 'a']);
  expect(() => declared({ a: ['b'], b: ['a'] })).toThrow(/read each other: a, b/);
});
