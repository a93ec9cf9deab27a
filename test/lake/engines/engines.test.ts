import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { obstacle, TestLake } from '../support/lake.js';
import { type Organization, organization, removeOrganizations, Worker } from '../support/worker.js';
import { type Engine, type EngineName, isInstalled, startEngine } from './engines.js';
import { changeWarehouse, differenceIn, differenceOf, localViews, statementsOf } from './views.js';

// Spark and Trino read what workers published: 1.3 GB to install, and minutes to run. By hand:
//   npm run test:lake-engines

const missing = obstacle('iceberg');

/** Rows of each table, and the length of all texts of one of its columns. */
const measured: Readonly<Record<string, string>> = {
  topics: 'title',
  messages: 'content',
  people: 'display_name',
  companies: 'name',
  history: 'changes',
  topic_people: 'person_id',
};

function question(prefix: string, organizations: readonly { schema: string; org: string }[]): string {
  const parts = organizations.flatMap(({ schema, org }) =>
    Object.entries(measured).map(
      ([table, column]) =>
        `SELECT '${org}.${table}' AS name, count(*) AS counted, sum(length(CAST(${column} AS VARCHAR(100000)))) AS total FROM ${prefix}${schema}.${table}`,
    ),
  );
  return `${parts.join(' UNION ALL ')} ORDER BY 1`;
}

/** Four organizations in a lake, and what their local warehouses answer to a question about it. */
async function fourOrganizations(): Promise<{ sql: string; expected: [string, number, number][] }> {
  const lake = await TestLake.make('iceberg');
  const organizations = await Promise.all([5, 6, 7, 8].map(organization));
  const expected: [string, number, number][] = [];
  for (const org of organizations) {
    const worker = new Worker(org, lake);
    await worker.publish();
    worker.show('today');
    await worker.publish();
    await lake.reading(worker.dataDir, async (rows) => {
      const found = await rows<{ name: string; counted: number; total: number }>(
        question('local.', [{ schema: 'main', org: org.id }]),
      );
      expected.push(
        ...found.map(({ name, counted, total }): [string, number, number] => [name, counted, total]),
      );
    });
  }
  expected.sort(([a], [b]) => (a < b ? -1 : 1));
  const schemas = organizations.map(({ id }) => ({ schema: lake.namespace(id), org: id }));
  return { sql: question('lake.', schemas), expected };
}
let published: ReturnType<typeof fourOrganizations> | undefined;

afterAll(removeOrganizations);

/** How the tables are maintained (docs/lake.md), and which statements Nessie refuses. */
const maintenance: Readonly<Record<EngineName, (schema: string, table: string) => Maintenance>> = {
  // Spark cannot write to the object store of the tests, which keeps the frames of chunked uploads as content.
  Spark: (schema, table) => ({
    works: [],
    refused: [
      `CALL lake.system.expire_snapshots('${schema}.${table}')`,
      `CALL lake.system.remove_orphan_files('${schema}.${table}')`,
    ],
  }),
  Trino: (schema, table) => ({
    works: [
      `ALTER TABLE lake.${schema}.${table} EXECUTE optimize`,
      `ALTER TABLE lake.${schema}.${table} EXECUTE remove_orphan_files(retention_threshold => '7d')`,
    ],
    refused: [`ALTER TABLE lake.${schema}.${table} EXECUTE expire_snapshots(retention_threshold => '7d')`],
  }),
};

interface Maintenance {
  readonly works: readonly string[];
  readonly refused: readonly string[];
}

/** A worker whose published file has what the sandbox seldom has, in a lake of its own. */
async function changedWorker(): Promise<{ own: TestLake; org: Organization; worker: Worker; file: string }> {
  const org = await organization(5);
  const own = await TestLake.make('iceberg');
  const worker = new Worker(org, own);
  const file = join(worker.dataDir, 'signals.duckdb');
  await changeWarehouse(file);
  await worker.publish();
  return { own, org, worker, file };
}

describe.each<EngineName>(['Spark', 'Trino'])('%s', (name) => {
  const skipped = missing !== null || !isInstalled(name);
  let engine: Engine;
  // A lake of its own: the views of one engine are in the way of those of the other.
  let changed: Awaited<ReturnType<typeof changedWorker>>;

  beforeAll(async () => {
    if (skipped) return;
    changed = await changedWorker();
    engine = await startEngine(name, changed.own.namespace(changed.org.id));
  });
  afterAll(() => engine?.stop());

  it.skipIf(skipped)('returns the counts and sums of four local warehouses', async () => {
    published ??= fourOrganizations();
    const { sql, expected } = await published;
    expect(await engine.ask(sql)).toEqual(expected);
  });

  it.skipIf(skipped)('gives the answers of the analysts’ views', async () => {
    const statements = statementsOf(name);
    const local = await localViews(
      changed.file,
      statements.map(({ view }) => view),
    );
    const differences: Record<string, string> = {};
    for (const { view, sql: statement } of statements) {
      await engine.ask(statement);
      const cells = local.get(view);
      const difference = cells
        ? await differenceIn(engine, name, view, cells).catch(String)
        : 'not in signals.duckdb';
      if (difference !== null) differences[view] = difference;
    }
    expect(differences).toEqual({});
    expect([...local].filter(([, { rows }]) => rows.length === 0).map(([view]) => view)).toEqual([]);
  });

  it.skipIf(skipped)('maintains tables that stay equal and can be published again', async () => {
    const { own, org, worker } = changed;
    worker.show('today');
    const { tables } = await worker.publish();
    const written = Object.keys(tables).filter(
      (table) => (tables[table]?.updated ?? 0) + (tables[table]?.deleted ?? 0) > 0,
    );
    expect(written).toContain('messages');
    for (const table of written) {
      const { works, refused } = maintenance[name](own.namespace(org.id), table);
      for (const statement of works) await engine.ask(statement);
      for (const statement of refused) {
        await expect(engine.ask(statement), statement).rejects.toThrow('GC is disabled');
      }
    }
    expect(await own.differences(worker.dataDir, org.id)).toEqual([]);
    worker.show('yesterday');
    await worker.publish();
    expect(await own.differences(worker.dataDir, org.id)).toEqual([]);
  });
});

describe('DuckDB', () => {
  const views = new URL('../../../sql/views/', import.meta.url);
  const read = (path: string) => readFileSync(new URL(path, views), 'utf8');

  it.skipIf(missing !== null)(
    'gives the answers of the analysts’ views, and restores the tables',
    async () => {
      const { own, org, worker, file } = await changedWorker();
      const namespace = own.namespace(org.id);
      const local = await localViews(
        file,
        statementsOf('Trino').map(({ view }) => view),
      );
      const folder = mkdtempSync(join(inject('runFolder'), 'restored-'));
      const copy = mkdtempSync(join(inject('runFolder'), 'views-'));
      const files = readdirSync(views)
        .sort()
        .filter((name) => !/_changes|story_buckets|change_log|audit|freshness/.test(name));
      const tables = await own.reading(worker.dataDir, (rows) =>
        rows<{ name: string }>(
          "SELECT table_name AS name FROM duckdb_tables() WHERE database_name = 'local' AND schema_name = 'main'",
        ),
      );
      await own.writing([
        `ATTACH '${folder}/signals.duckdb' AS restored`,
        ...tables.map(
          ({ name }) =>
            `CREATE TABLE restored.${name} AS SELECT * EXCLUDE (org_id) FROM lake.${namespace}.${name}`,
        ),
        `ATTACH '${folder}/views.duckdb' AS views`,
        `SET search_path = 'views.main,lake.${namespace}'`,
        read('../lake/duckdb.sql'),
        ...files.map(read),
        `ATTACH '${copy}/signals.duckdb' AS copy`,
        // What changeWarehouse sets.
        `CREATE OR REPLACE VIEW views.business_hours AS SELECT 'Europe/Berlin' AS timezone, [1, 2, 3, 4, 5, 6] AS days,
         TIME '08:30' AS opens, TIME '18:15' AS closes`,
        ...[...local.keys()].map((view) => `CREATE TABLE copy.${view} AS FROM views.${view}`),
      ]);
      const there = await localViews(`${copy}/signals.duckdb`, [...local.keys()]);
      for (const [view, { columns, rows }] of local) {
        expect(there.get(view)?.columns, view).toEqual(columns);
        expect(differenceOf(columns, rows, there.get(view)?.rows ?? []), view).toBeNull();
      }
      expect(await own.differences(folder, org.id)).toEqual([]);
      expect(await own.differences(worker.dataDir, org.id)).toEqual([]);
    },
  );
});
