import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkModels } from '../../../../src/warehouse/load/checks.js';
import {
  type DocumentModel,
  type Model,
  parseModel,
  parseVersions,
  readModels,
} from '../../../../src/warehouse/load/models.js';
import { sqlDir } from '../../../../src/warehouse/sql.js';
import { migrate, readMigrations } from '../../../../src/warehouse/store/migrate.js';
import { Session } from '../../../../src/warehouse/store/session.js';
import { emptyDir } from '../support.js';

let session: Session;
beforeAll(async () => {
  session = await Session.on(await DuckDBInstance.create(), '.');
  await migrate(session, readMigrations());
});
afterAll(() => session.close());

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
    expect(parseModel('x', `${header}-- derived: messages\n-- parts: topic_id\nSELECT 1`)).toMatchObject({
      parts: 'topic_id',
    });
  });

  test.each([
    ['-- key: id\n-- documents: a\n-- scope: id -> id\nSELECT 1', /has no header line table/],
    ['-- table: t\n-- documents: a\n-- scope: id -> id\nSELECT 1', /has no header line key/],
    [`${header}-- scope: id -> id\nSELECT 1`, /has no header line documents/],
    [`${header}-- documents: a\nSELECT 1`, /needs a scope/],
    [`${header}-- derived: a\n-- parts: id\nSELECT 1`, /parts must be a column of its key/],
    [`${header}-- documents: a\n-- scope: body -> id\nSELECT 1`, /needs a scope/],
    [`${header}-- documents: a\n-- scope: id -> id\n-- siblings: b\nSELECT 1`, /siblings can only be none/],
    [
      `${header}-- documents: a\n-- scope: id -> id\n-- sibling: none\nSELECT 1`,
      /unknown header line: sibling/,
    ],
  ])('that is incomplete or not understood is refused', (text, message) => {
    expect(() => parseModel('x', text)).toThrow(message);
  });

  test('of versions', () => {
    expect(parseVersions('x', '-- table: t\n-- of: o\n-- key: k\n\nSELECT 1;\n')).toMatchObject({
      ...{ table: 't', of: 'o', key: 'k', select: expect.stringMatching(/SELECT 1$/) },
    });
    expect(() => parseVersions('x', '-- table: t\n-- key: k\nSELECT 1')).toThrow(/have no header line of/);
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

describe('versions of rows', () => {
  const versioned = (select: string, key = 'topic_id'): DocumentModel => ({
    ...(readModels().documents.find(({ table }) => table === 'topics') as DocumentModel),
    versions: { table: 'topic_versions', of: 'topics', key, select },
  });

  test('fits its table like a model', async () => {
    const check = (model: DocumentModel) => checkModels(session, { documents: [model], derived: [] });
    const right = readFileSync(join(sqlDir, 'versions/topic_versions.sql'), 'utf8');
    expect(await check(versioned(right))).toEqual([]);
    expect(await check(versioned(right.replace('  priority,', '  1 AS priority, 2 AS mood,'), 'id'))).toEqual(
      [
        'versions topic_versions computes priority as INTEGER, not VARCHAR',
        'versions topic_versions computes mood, which is not in topic_versions',
        'versions topic_versions names id, which is not in topic_versions',
      ],
    );
  });

  test.each(['topic_people', 'merges', 'nowhere'])('cannot be of %s, whose rows have no id', (of) => {
    const sql = emptyDir();
    cpSync(join(sqlDir, 'models'), join(sql, 'models'), { recursive: true });
    mkdirSync(join(sql, 'versions'));
    const text = `-- table: some_versions\n-- of: ${of}\n-- key: id\nSELECT 1`;
    writeFileSync(join(sql, 'versions/some_versions.sql'), text);
    expect(() => readModels(sql)).toThrow(`some_versions: ${of} must be a table of documents`);
  });
});
