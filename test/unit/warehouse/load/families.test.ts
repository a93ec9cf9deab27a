import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { batchOf } from '../../../../src/warehouse/load/batch.js';
import { familiesOf } from '../../../../src/warehouse/load/families.js';
import { type DocumentModel, parseModel, readModels } from '../../../../src/warehouse/load/models.js';
import { sqlDir } from '../../../../src/warehouse/sql.js';
import { readMigrations } from '../../../../src/warehouse/store/migrate.js';
import { at, contents, doc, emptyDir, members, open, runId } from '../support.js';

const model = (name: string, header: string): DocumentModel => {
  const parsed = parseModel(name, `-- table: ${name}\n-- key: id\n${header}\nSELECT 1`);
  if (parsed.from !== 'documents') throw new Error(`${name} is not a model of documents`);
  return parsed;
};

test('the families of the project, and what names their rows', () => {
  const { families, documents } = readModels();
  const kinds = [...new Set(documents.flatMap((one) => one.documents)), 'person_identities'];
  const all = new Map(kinds.map((kind) => [families.familyName(kind), families.familyOf(kind)]));
  expect([...all.values()].filter(({ length }) => length > 1).sort()).toEqual([
    ['automation_templates', 'automation_template'],
    ['channels', 'channel'],
    ['companies', 'company', 'company_activity', 'company_presence', 'company_merges'],
    ['people', 'person', 'person_presence', 'person_merges'],
    ['stories', 'story'],
    ['topic_groups', 'company_groups', 'person_groups'],
    ['topic_people', 'topic_persons'],
    ['topics', 'topic', 'topic_presence', 'topic_merges'],
  ]);
  const withParent = kinds.filter((kind) => !families.isNamedById(kind));
  expect(withParent.sort()).toEqual([
    'company_employees',
    'company_history',
    'company_identities',
    'person_history',
    'person_identities',
    'person_source_stats',
    'topic_history',
    'topic_people',
    'topic_persons',
  ]);
  expect(families.cascades).toEqual([
    { parents: ['topic_groups', 'company_groups', 'person_groups'], children: ['messages'] },
  ]);
});

test('kinds of several models are one family when they overlap, in the order of the longest list', () => {
  const { familyOf } = familiesOf([
    model('a', '-- documents: detail\n-- scope: id -> id'),
    model('b', '-- documents: detail, extra\n-- scope: id -> id'),
    model('c', '-- documents: list, detail, presence\n-- scope: id -> id'),
    model('d', '-- documents: left, right\n-- scope: id -> id\n-- siblings: none'),
  ]);
  expect(familyOf('extra')).toEqual(['list', 'detail', 'presence', 'extra']);
  expect([familyOf('left'), familyOf('right'), familyOf('unheard')]).toEqual([
    ['left'],
    ['right'],
    ['unheard'],
  ]);
});

test('a cascade from a table that no documents fill is refused', () => {
  const broken = model('x', '-- documents: a\n-- scope: id -> id\n-- cascade: nowhere');
  expect(() => familiesOf([broken])).toThrow('model x: no model of documents fills nowhere');
});

test('a new kind of document needs a migration and models, and nothing else', async () => {
  const sql = emptyDir();
  cpSync(sqlDir, sql, { recursive: true });
  const number = String(readMigrations().length + 1).padStart(4, '0');
  const table = (name: string, key: string) =>
    `CREATE TABLE ${name} (${key}, points BIGINT, synced_at TIMESTAMPTZ, run_id VARCHAR);`;
  writeFileSync(
    join(sql, `migrations/${number}_votes.sql`),
    table('votes', 'topic_id VARCHAR, id VARCHAR') + table('polls', 'id VARCHAR'),
  );
  const points = "(body ->> 'points')::BIGINT AS points, fetched_at AS synced_at, run_id";
  writeFileSync(
    join(sql, 'models/votes.sql'),
    `-- table: votes\n-- key: topic_id, id\n-- documents: topic_votes\n-- scope: parent_id -> topic_id
     SELECT parent_id AS topic_id, id, ${points} FROM documents`,
  );
  writeFileSync(
    join(sql, 'models/polls.sql'),
    `-- table: polls\n-- key: id\n-- documents: polls, poll\n-- scope: id -> id
     SELECT id, ${points} FROM documents QUALIFY row_number() OVER (PARTITION BY id ORDER BY fetched_at DESC) = 1`,
  );
  const warehouse = await open(emptyDir(), { sql });
  const load = (...documents: ReturnType<typeof doc>[]) => warehouse.load(batchOf(runId, { documents }));
  await load(
    doc('topic_votes', 'v', 0, { points: 1 }, 't1'),
    doc('topic_votes', 'v', 0, { points: 2 }, 't2'),
  );
  await warehouse.load(batchOf(runId, { sets: [members('topic_votes', 't1', 1, [])] }));
  expect(await warehouse.all('SELECT topic_id, points FROM votes')).toEqual([{ topic_id: 't2', points: 2 }]);
  // The list repeats its content after the poll's detail differed: its time moves, and it wins again.
  await load(doc('polls', 'p', 10, { points: 1 }));
  await load(doc('poll', 'p', 20, { points: 2 }));
  await load(doc('polls', 'p', 30, { points: 1 }));
  expect(await warehouse.all('SELECT points, synced_at FROM polls')).toEqual([
    { points: 1, synced_at: at(30) },
  ]);
  const before = await contents(warehouse);
  await warehouse.rebuild();
  expect(await contents(warehouse)).toEqual(before);
  expect(await warehouse.checkKeys()).toEqual([]);
  await warehouse.close();
});
