import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Batch, batchOf, type Document } from '../../../../src/warehouse/load/batch.js';
import { parseVersions, readVersions, versionsOf } from '../../../../src/warehouse/load/models.js';
import { sqlDir } from '../../../../src/warehouse/sql.js';
import { openFile } from '../../../../src/warehouse/store/engine.js';
import { migrate, readMigrations } from '../../../../src/warehouse/store/migrate.js';
import type { Warehouse } from '../../../../src/warehouse/warehouse.js';
import { propertyRuns } from '../../../support/runs.js';
import { at, doc, emptyDir, limits, members, open, runId } from '../support.js';

const all = readVersions(join(sqlDir, 'versions'));

let warehouse: Warehouse;
beforeAll(async () => {
  warehouse = await open();
});
afterAll(() => warehouse.close());
beforeEach(() => empty(warehouse));

async function empty(some: Warehouse): Promise<void> {
  const tables = await some.all<{ name: string }>(
    "SELECT schema_name || '.' || table_name AS name FROM duckdb_tables() WHERE NOT temporary AND table_name <> 'migrations'",
  );
  await some.run(tables.map(({ name }) => `DELETE FROM ${name}`).join(';'));
}

const load = (documents: Document[], more: Partial<Batch> = {}) =>
  warehouse.load(batchOf(runId, { documents, ...more }));

/** The versions of topics as `id from-to columns`, moments in seconds after the start. */
async function versions(columns = ['priority']): Promise<string[]> {
  const rows = await warehouse.all<{ version: string }>(
    `SELECT concat(topic_id, ' ', (epoch(valid_from) - $1)::INTEGER, '-', (epoch(valid_to) - $1)::INTEGER,
            ' ', concat_ws(' ', ${columns.join(', ')})) AS version FROM topic_versions ORDER BY topic_id, valid_from`,
    [at(0).getTime() / 1000],
  );
  return rows.map(({ version }) => version.trim());
}

const listed = (second: number, priority: string, more: object = {}) =>
  doc('topics', 't1', second, { title: 'One', priority, ...more });
const presence = (second: number, said: object) => doc('topic_presence', 't1', second, said);
const gone = (second: number) => presence(second, { deletedAt: at(second).toISOString() });

describe('a version', () => {
  test('begins with the answer that differs, and ends the previous one', async () => {
    await load([listed(0, 'low')]);
    await load([listed(10, 'high')]);
    await load([doc('topics', 't2', 20, { priority: 'default' }), listed(20, 'low')]);
    expect(await versions()).toEqual(['t1 0-10 low', 't1 10-20 high', 't1 20- low', 't2 20- default']);
    expect(await warehouse.all('SELECT DISTINCT run_id FROM topic_versions')).toEqual([{ run_id: runId }]);
  });

  test('is made for each change, though several come in one batch', async () => {
    await load([
      listed(10, 'low'),
      listed(20, 'high'),
      listed(30, 'high'),
      doc('topic', 't1', 40, { priority: 'high', graphStatus: 'active' }),
      listed(50, 'default'),
    ]);
    const expected = ['t1 10-20 low', 't1 20-40 high', 't1 40-50 high active', 't1 50- default active'];
    expect(await versions(['priority', 'graph_status'])).toEqual(expected);
  });

  test('is made for each of several rows that change at different times', async () => {
    const one = (id: string, second: number, priority: string) => doc('topics', id, second, { priority });
    const first = [one('t1', 10, 'a'), one('t2', 10, 'a'), one('t1', 12, 'b'), one('t3', 20, 'a')];
    await load([...first, one('t2', 30, 'b'), one('t3', 30, 'b')]);
    const expected = ['t1 10-12 a', 't1 12- b', 't2 10-30 a', 't2 30- b', 't3 20-30 a', 't3 30- b'];
    expect(await versions()).toEqual(expected);
  });

  test('is made when a document repeats the value of another and removes one by it', async () => {
    await load([doc('topic', 't1', 0, { priority: 'low', graphStatus: 'active' })]);
    await load([listed(10, 'high'), doc('topic', 't1', 20, { title: 'One', priority: 'high' })]);
    const expected = ['t1 0-10 low active', 't1 10-20 high active', 't1 20- high'];
    expect(await versions(['priority', 'graph_status'])).toEqual(expected);
  });

  test('is made when one of two documents of the same time is seen again', async () => {
    const own = doc('topic', 't1', 10, { title: 'One', priority: 'high' });
    for (const [first, second] of [
      [listed(10, 'low'), own],
      [own, listed(10, 'low')],
    ] as const) {
      await empty(warehouse);
      await load([first, second, { ...first, fetchedAt: at(20) }]);
      const inOne = await versions();
      await empty(warehouse);
      await load([first, second]);
      await load([{ ...first, fetchedAt: at(20) }]);
      expect(inOne).toEqual(await versions());
      await empty(warehouse);
      await load([first, second, { ...second, fetchedAt: at(20) }]);
      const alsoInOne = await versions();
      await empty(warehouse);
      await load([first, second]);
      await load([{ ...second, fetchedAt: at(20) }]);
      expect(alsoInOne).toEqual(await versions());
    }
  });

  test('is made when an answer repeats a value and adds another', async () => {
    const more = doc('topic', 't1', 20, { priority: 'high' });
    for (const answer of [
      [listed(20, 'low'), more],
      [more, listed(20, 'low')],
    ]) {
      await empty(warehouse);
      await load([listed(10, 'low'), ...answer]);
      expect(await versions()).toEqual(['t1 10-20 low', 't1 20- high']);
    }
  });

  test('begins at its first answer, although two documents repeat it', async () => {
    const both = (second: number) => [
      listed(second, 'low'),
      doc('topic', 't1', second, { priority: 'high' }),
    ];
    await load([...both(10), ...both(20)]);
    expect(await versions()).toEqual(['t1 10- high']);
  });

  test('is made in a batch that is split for other reasons too', async () => {
    const person = (second: number) => doc('topic_people', 'p1', second, { displayName: 'Ada' }, 't1');
    const sets = [members('topic_people', 't1', 20, [])];
    await load([person(5), listed(10, 'low'), listed(20, 'high'), person(30)], { sets });
    expect(await versions()).toEqual(['t1 10-20 low', 't1 20- high']);
    expect(await warehouse.all('FROM topic_people')).toHaveLength(1);
  });

  test('is not made when the versioned columns do not change', async () => {
    await load([listed(0, 'low', { keywords: ['a'], similarity: 0.1 })]);
    await load([listed(10, 'low', { keywords: ['b'], similarity: 0.2 })]);
    await load([doc('topic', 't1', 20, { priority: 'low', summary: 'Said now.' })]);
    expect(await warehouse.all('SELECT keywords, summary FROM topics')).toEqual([
      { keywords: ['b'], summary: 'Said now.' },
    ]);
    expect(await versions()).toEqual(['t1 0- low']);
  });

  test('records that the row was deleted, merged, and back again', async () => {
    await load([listed(0, 'low')]);
    await load([gone(10)]);
    await load([
      presence(20, { deletedAt: at(10).toISOString(), deletedReason: 'merged', mergedIntoId: 't2' }),
    ]);
    await load([presence(30, { deletedAt: null })]);
    const columns = ['(epoch(deleted_at) - 1767225600)::INTEGER', 'deleted_reason', 'merged_into_id'];
    expect(await versions(columns)).toEqual(['t1 0-10', 't1 10-20 10', 't1 20-30 10 merged t2', 't1 30-']);
  });

  test('replaces one that began at the same time', async () => {
    await load([listed(0, 'low')]);
    await load([listed(10, 'high')]);
    await load([doc('topic', 't1', 10, { priority: 'default' })]);
    expect(await versions()).toEqual(['t1 0-10 low', 't1 10- default']);
    // As before it: then it never was.
    await load([doc('topic', 't1', 10, { priority: 'low' })]);
    expect(await versions()).toEqual(['t1 0- low']);
    await load([listed(20, 'high')]);
    expect(await versions()).toEqual(['t1 0-20 low', 't1 20- high']);
  });

  test('is kept when the clock is set back before the next answer, which begins a microsecond later', async () => {
    await load([listed(90_000, 'low')]);
    const later = (no: number, priority: string, second: number) => ({
      ...listed(second, priority),
      answerNo: no,
    });
    await load([later(90_001, 'high', 20)]);
    await load([later(90_002, 'default', 30), later(90_003, 'low', 90_010)]);
    const rows = await warehouse.all(
      'SELECT priority, epoch_us(valid_to) - epoch_us(valid_from) AS us FROM topic_versions ORDER BY valid_from',
    );
    expect(rows).toEqual([
      { priority: 'low', us: 1 },
      { priority: 'high', us: 1 },
      { priority: 'default', us: 9_999_998 },
      { priority: 'low', us: null },
    ]);
  });

  test('that is the first can be replaced too', async () => {
    await load([listed(10, 'low')]);
    await load([listed(10, 'high')]);
    expect(await versions()).toEqual(['t1 10- high']);
  });

  test('ends when its row was last seen, if the row is deleted without a tombstone', async () => {
    const removed = [{ endpoint: 'topics', id: 't1', parentId: null }];
    await load([listed(0, 'low')]);
    await load([listed(10, 'low', { summary: 'Seen again.' })]);
    await load([], { removed });
    expect(await versions()).toEqual(['t1 0-10 low']);
    await load([listed(30, 'low')]);
    expect(await versions()).toEqual(['t1 0-10 low', 't1 30- low']);
    await load([], { removed });
    // The last one was seen for no time at all.
    expect(await versions()).toEqual(['t1 0-10 low']);
    await load([listed(10, 'low')]);
    expect(await versions()).toEqual(['t1 0- low']);
  });

  test('ends like that for a row without values too', async () => {
    await load([doc('topics', 't1', 0)]);
    await load([doc('topic', 't1', 10, { summary: 'Nothing that is observed.' })]);
    const removed = ['topics', 'topic'].map((endpoint) => ({ endpoint, id: 't1', parentId: null }));
    await load([], { removed });
    expect(await versions()).toEqual(['t1 0-10']);
  });

  test('is removed when its document is withdrawn', async () => {
    await load([listed(0, 'low')]);
    await load([doc('topic', 't1', 10, { priority: 'high' })]);
    await load([], { removed: [{ endpoint: 'topic', id: 't1', parentId: null }] });
    expect(await versions()).toEqual(['t1 0- low']);
  });
});

describe('other cases', () => {
  test('messages do not touch them', async () => {
    const apart = await open();
    onTestFinished(() => apart.close());
    await apart.run(all.map(({ table }) => `DROP TABLE ${table}`).join(';'));
    const written = (id: string) => doc('messages', id, 0, { content: 'hello' }, 'g1');
    await apart.load(batchOf(runId, { documents: [written('m1'), written('m2')] }));
    await expect(apart.load(batchOf(runId, { documents: [listed(0, 'low')] }))).rejects.toThrow(
      /topic_versions/,
    );
  });

  test('a batch that fails leaves neither row nor version', async () => {
    await load([listed(0, 'low')]);
    const broken = { ...doc('topics', 't2', 20), body: '{' };
    await expect(load([listed(10, 'high'), broken])).rejects.toThrow(/is not JSON/);
    await warehouse.run('ALTER TABLE people_versions RENAME TO aside');
    const person = doc('people', 'p1', 20, { displayName: 'Ada' });
    await expect(load([listed(10, 'high'), person])).rejects.toThrow(/people_versions/);
    await warehouse.run('ALTER TABLE aside RENAME TO people_versions');
    expect(await versions()).toEqual(['t1 0- low']);
    expect(await warehouse.all('SELECT priority FROM topics')).toEqual([{ priority: 'low' }]);
  });

  test('a key that is repeated is found', async () => {
    await load([listed(0, 'low'), doc('companies', 'c1', 0)]);
    await warehouse.run('INSERT INTO company_versions FROM company_versions');
    expect(await warehouse.checkKeys()).toEqual([
      { table: 'main.company_versions', key: ['company_id', 'valid_from'], repeated: 1, nulls: 0 },
    ]);
  });

  test('a rebuild by a program that reads documents differently adds versions only for the differences', async () => {
    const dataDir = emptyDir();
    const documents = [listed(0, 'low'), doc('topics', 't2', 0, { priority: 'default' })];
    const before = await open(dataDir);
    await before.load(batchOf(runId, { documents }));
    await before.load(batchOf(runId, { documents: [listed(10, 'low', { summary: 'Longer.' })] }));
    await before.close();

    const sql = join(emptyDir(), 'sql');
    cpSync(sqlDir, sql, { recursive: true });
    const model = join(sql, 'models/topics.sql');
    const text = readFileSync(model, 'utf8');
    writeFileSync(
      model,
      text.replace('d.priority AS priority', "replace(d.priority, 'low', 'LOW') AS priority"),
    );
    const after = await open(dataDir, { sql });
    onTestFinished(() => after.close());
    await after.rebuild();
    const shown = () =>
      after.all(
        'SELECT topic_id, priority, epoch(valid_to - valid_from) AS s FROM topic_versions ORDER BY ALL',
      );
    const expected = [
      { topic_id: 't1', priority: 'LOW', s: null },
      { topic_id: 't1', priority: 'low', s: 10 },
      { topic_id: 't2', priority: 'default', s: null },
    ];
    expect(await shown()).toEqual(expected);
    await after.run("DELETE FROM raw.documents WHERE id = 't2'");
    await after.rebuild();
    await after.rebuild();
    expect(await shown()).toEqual(expected.slice(0, 2));
  });

  test('a warehouse that is older than its versions gets the first ones from its rows', async () => {
    const migrations = join(emptyDir(), 'migrations');
    const old = readdirSync(join(sqlDir, 'migrations')).filter((name) => name < '0006');
    mkdirSync(migrations);
    for (const name of old) cpSync(join(sqlDir, 'migrations', name), join(migrations, name));

    const dataDir = emptyDir();
    const before = await openFile(join(dataDir, 'worker.duckdb'), { ...limits, access: 'write', dataDir });
    await migrate(before, readMigrations(migrations));
    const insert = (it: Document) =>
      before.run(`INSERT INTO raw.documents SELECT $1, $2, NULL, $3::JSON, md5($3), $4, '${runId}'`, [
        it.endpoint,
        it.id,
        it.body,
        it.fetchedAt,
      ]);
    for (const it of [...everything(0, 'a').slice(1), gone(5), listed(10, 'high')]) await insert(it);
    // The later one, although it was stored first.
    await insert(doc('topic', 't1', 7, { priority: 'low' }));
    await before.run(
      `
      INSERT INTO topics (id, title, priority, deleted_at, synced_at, run_id)
        SELECT 't1', 'One', 'high', $1, $2, '${runId}'`,
      [at(5), at(10)],
    );
    await before.run(`INSERT INTO companies (id, name, synced_at, run_id) SELECT 'c1', 'a', $1, '${runId}'`, [
      at(0),
    ]);
    await before.run(`INSERT INTO people (id, synced_at, run_id) SELECT 'p1', $1, '${runId}'`, [at(0)]);
    await before.close();
    const after = await open(dataDir);
    onTestFinished(() => after.close());
    expect(after.migrated).toContain('0006_versions.sql');
    const rows = await after.all('SELECT topic_id AS id, priority, valid_from, valid_to FROM topic_versions');
    expect(rows).toEqual([{ id: 't1', priority: 'high', valid_from: at(10), valid_to: null }]);
    for (const [table, count] of [
      ['company_versions', 1],
      ['people_versions', 1],
    ] as const) {
      expect(await after.all(`FROM ${table}`)).toHaveLength(count);
    }
    expect(await unsound(after)).toEqual([]);
    await after.load(batchOf(runId, { documents: everything(20, 'b') }));
    expect(await unsound(after)).toEqual([]);
    expect(await after.all('FROM people_versions')).toHaveLength(2);
  });

  test('an incomplete header is refused', () => {
    expect(parseVersions('x', '-- table: t\n-- of: o\n-- key: k\n\nSELECT 1;\n')).toMatchObject({
      ...{ table: 't', of: 'o', key: 'k', select: expect.stringMatching(/SELECT 1$/) },
    });
    expect(() => parseVersions('x', '-- table: t\n-- key: k\nSELECT 1')).toThrow(/have no header line of/);
  });
});

/** A topic, a company and a person, with something of each that is observed. */
function everything(second: number, name: string): Document[] {
  return [
    listed(second, name),
    doc('companies', 'c1', second, { name, isVip: true, personCount: 2 }),
    doc('people', 'p1', second, { displayName: name, messageCount: 3, company: { id: 'c1' } }),
  ];
}

interface Version {
  readonly id: string;
  readonly valid_from: Date;
  readonly valid_to: Date | null;
  /** What was observed, as text. */
  readonly looks: string;
}

/** The rows of a SELECT as versions show them. */
async function read(some: Warehouse, key: string, select: string): Promise<Version[]> {
  const rows = await some.all<Record<string, unknown>>(
    `SELECT * FROM (${select}) ORDER BY ${key}, valid_from`,
  );
  return rows.map(({ [key]: id, valid_from, valid_to = null, run_id: _, ...observed }) => ({
    id: String(id),
    valid_from: valid_from as Date,
    valid_to: valid_to as Date | null,
    looks: JSON.stringify(observed),
  }));
}

/** What is wrong with the versions, as sentences: intervals, neighbours, and the rows themselves. */
async function unsound(some: Warehouse): Promise<string[]> {
  const found: string[] = [];
  for (const it of all) {
    const versions = await read(some, it.key, `FROM ${it.table}`);
    for (const [index, version] of versions.entries()) {
      const name = `${it.table} ${version.id} from ${version.valid_from.toISOString()}`;
      const next = versions[index + 1]?.id === version.id ? versions[index + 1] : undefined;
      if (version.valid_to?.getTime() !== next?.valid_from.getTime()) found.push(`${name}: gap or overlap`);
      if (version.valid_to && version.valid_to <= version.valid_from) found.push(`${name}: empty`);
      if (version.looks === next?.looks) found.push(`${name}: the same again`);
    }
    const rows = await read(some, it.key, versionsOf(it, `FROM ${it.of}`));
    const now = versions.filter(({ valid_to: end }) => end === null);
    const said = (some: Version[]) => some.map(({ id, looks }) => `${id} ${looks}`).join('\n');
    if (said(rows) !== said(now))
      found.push(`${it.table}: ${said(now)}, not what ${it.of} says: ${said(rows)}`);
  }
  return found;
}

/** What each row looked like at a time, by the query that an analyst would write. */
async function asOf(some: Warehouse, moment: Date): Promise<string[]> {
  const found: string[] = [];
  for (const { table, key } of all) {
    const when = `TIMESTAMPTZ '${moment.toISOString()}'`;
    const select = `FROM ${table} WHERE valid_from <= ${when} AND (valid_to > ${when} OR valid_to IS NULL)`;
    for (const { id, looks } of await read(some, key, select)) found.push(`${table} ${id} ${looks}`);
  }
  return found;
}

async function rowsNow(some: Warehouse): Promise<string[]> {
  const found: string[] = [];
  for (const it of all) {
    const rows = await read(some, it.key, versionsOf(it, `FROM ${it.of}`));
    found.push(...rows.map(({ id, looks }) => `${it.table} ${id} ${looks}`));
  }
  return found;
}

describe('any sequence of answers', () => {
  const kinds = {
    topics: ['title', 'priority', 'messageCount', 'keywords'],
    topic: ['priority', 'graphStatus', 'archivedAt', 'summary'],
    topic_presence: ['deletedAt', 'mergedIntoId'],
    companies: ['name', 'isVip', 'messageCount', 'logoUrl'],
    company: ['isVip', 'isOrgCompany'],
    company_activity: ['messageCount'],
    people: ['displayName', 'isVip', 'avatarUrl'],
    person: ['isVip', 'identityCount', 'company'],
    person_presence: ['deletedAt'],
  };
  const values: Record<string, fc.Arbitrary<unknown>> = {
    messageCount: fc.constantFrom(1, 2),
    identityCount: fc.constantFrom(1, 2),
    isVip: fc.boolean(),
    isOrgCompany: fc.boolean(),
    keywords: fc.constantFrom(['a'], ['b']),
    company: fc.constantFrom(null, { id: 'c1' }, { id: 'c2' }),
    deletedAt: fc.constantFrom(null, '2026-01-01T00:00:00Z'),
    archivedAt: fc.constantFrom(null, '2026-01-01T00:00:00Z'),
  };
  const item = fc.constantFrom(...(Object.keys(kinds) as (keyof typeof kinds)[])).chain((kind) =>
    fc.record({
      kind: fc.constant(kind),
      id: fc.constantFrom('1', '2'),
      said: fc.record(
        Object.fromEntries(kinds[kind].map((name) => [name, values[name] ?? fc.constantFrom('a', 'b')])),
      ),
    }),
  );
  const answers = fc.array(
    fc.record({
      items: fc.uniqueArray(item, {
        minLength: 1,
        maxLength: 3,
        selector: ({ kind, id }) => `${kind} ${id}`,
      }),
      /** Seconds since the previous answer: two may come at the same time. */
      later: fc.constantFrom(0, 10, 10, 10),
      /** Whether a batch ends after it. */
      cut: fc.boolean(),
    }),
    { minLength: 2, maxLength: 12 },
  );

  let oneByOne: Warehouse;
  beforeAll(async () => {
    oneByOne = await open();
  });
  afterAll(() => oneByOne.close());

  test('the versions do not depend on how answers are divided into batches', async () => {
    await fc.assert(
      fc.asyncProperty(answers, async (steps) => {
        await empty(oneByOne);
        await empty(warehouse);
        let second = 0;
        const told = new Map<number, string[]>();
        let pending: Document[] = [];
        for (const { items, later, cut } of steps) {
          second += later;
          const documents = items.map(({ kind, id, said }) => doc(kind, id, second, said));
          await oneByOne.load(batchOf(runId, { documents }));
          told.set(second, await rowsNow(oneByOne));
          pending.push(...documents);
          if (!cut) continue;
          await warehouse.load(batchOf(runId, { documents: pending }));
          pending = [];
        }
        await warehouse.load(batchOf(runId, { documents: pending }));

        expect(await unsound(warehouse)).toEqual([]);
        expect(await asOf(warehouse, at(-1))).toEqual([]);
        for (const [moment, rows] of told) {
          expect(await asOf(warehouse, at(moment))).toEqual(rows);
          expect(await asOf(warehouse, at(moment + 9))).toEqual(rows);
        }
        expect(await warehouse.checkKeys()).toEqual([]);

        const before = await Promise.all(all.map(({ table }) => warehouse.all(`FROM ${table} ORDER BY ALL`)));
        await warehouse.rebuild();
        const after = await Promise.all(all.map(({ table }) => warehouse.all(`FROM ${table} ORDER BY ALL`)));
        expect(after).toEqual(before);
      }),
      { numRuns: propertyRuns(1, 30) },
    );
  });
});
