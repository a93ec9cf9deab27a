import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { sqlDir } from '../../src/warehouse/sql.js';
import { analysisTables, differences, expectedTables, madeUpTables } from '../support/oracle.js';
import { Pulling, startTown, town } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

const modelsDir = join(sqlDir, 'models');

/**
 * What a run costs that finds nothing new: whoami, each list in one page, the bucket of archived stories, and a second
 * answer for lists without a total.
 */
const listsOnly = {
  whoami: 1,
  topics: 1,
  companies: 1,
  people: 1,
  channels: 2,
  stories: 2,
  automation_templates: 2,
};

describe('pull after pull', () => {
  let sandbox: Sandbox;
  let pulling: Pulling;
  beforeAll(async () => {
    sandbox = await startTown({ sizes: town });
    pulling = Pulling.into(sandbox);
  });
  afterAll(() => sandbox.stop());

  it('the first one costs what was planned', async () => {
    const plan = await pulling.plan();
    const { code, report, requests } = await pulling.sync();
    expect([code, report.requests.total]).toEqual([0, requests]);
    expect(Math.abs(plan.requests.total - requests) / requests).toBeLessThanOrEqual(0.05);
    expect(await pulling.differences()).toEqual([]);
  });

  // The judges of the simulation rely on it.
  it('the comparison with the API misses no table and no column', async () => {
    const spoiled = testFolder();
    copyFileSync(join(pulling.dataDir, 'signals.duckdb'), join(spoiled, 'signals.duckdb'));
    const tables = await spoil(sandbox, join(spoiled, 'signals.duckdb'));
    const found = await differences(sandbox, spoiled, { most: Number.POSITIVE_INFINITY });
    for (const { table, columns } of tables) {
      const own = found.filter((line) => line.startsWith(`${table} `));
      expect([table, own.some((line) => line.endsWith('is missing'))]).toEqual([table, true]);
      const seen = columns.filter((column) => own.some((line) => line.includes(`: ${column} is `)));
      expect([table, seen]).toEqual([table, columns]);
    }
    const models = readdirSync(modelsDir).map((file) => file.replace('.sql', ''));
    expect([...[...tables, ...analysisTables].map(({ table }) => table), ...madeUpTables()].sort()).toEqual(
      models.sort(),
    );
  });

  it('the next one costs its lists, and changes no row', async () => {
    const { code, report, seen } = await pulling.sync();
    expect(code).toBe(0);
    expect(seen).toEqual(listsOnly);
    expect(report.rows).toEqual({});
  });
});

/** Takes a row out of every table, and makes every column that is no key of another row null or something else. */
async function spoil(sandbox: Sandbox, path: string): Promise<{ table: string; columns: string[] }[]> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  const rows = async (sql: string) => (await connection.run(sql)).getRowObjectsJson();
  const spoiled: { table: string; columns: string[] }[] = [];
  for (const { key, table } of expectedTables(sandbox)) {
    const columns = (
      await rows(
        `SELECT column_name AS name FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = '${table}'`,
      )
    ).flatMap(({ name }) => {
      const isOurs = name === 'synced_at' || name === 'run_id';
      return isOurs || key.includes(String(name)) ? [] : String(name);
    });
    const changed: string[] = [];
    for (const column of columns) {
      const [holding] = await rows(`SELECT count(*) > 1 AS some FROM ${table} WHERE ${column} IS NOT NULL`);
      if (holding?.some !== true) continue;
      await connection.run(`UPDATE ${table} SET ${column} = NULL`);
      changed.push(column);
    }
    await connection.run(`DELETE FROM ${table} WHERE rowid = (SELECT min(rowid) FROM ${table})`);
    spoiled.push({ table, columns: changed });
  }
  connection.closeSync();
  instance.closeSync();
  return spoiled;
}
