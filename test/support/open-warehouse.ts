import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Document, MemberSet } from '../../src/load/batch.js';
import { type OpenOptions, openWarehouse } from '../../src/load/open.js';
import type { Warehouse } from '../../src/load/warehouse.js';
import { putWarehouse } from './migrated.js';
import { testFolder } from './test-folders.js';

export const limits = { memoryLimit: '256MB', threads: 1 };
export const runId = '20260101T000000000Z-0001';

/** An empty folder, removed after the tests of the file. */
export const emptyDir = testFolder;

/** A folder with a warehouse that is empty and up to date. */
export async function ready(): Promise<string> {
  const dir = emptyDir();
  await putWarehouse(dir);
  return dir;
}

/** A warehouse with the project's own migrations and models, in real files; empty unless `dataDir` has one. */
export async function open(dataDir?: string, options: Partial<OpenOptions> = {}): Promise<Warehouse> {
  const warehouse = await openWarehouse({ dataDir: dataDir ?? (await ready()), ...limits, ...options });
  // On a handful of rows, most of a statement's time went into finding a good plan for it.
  await warehouse.run('PRAGMA disable_optimizer');
  return warehouse;
}

/** One warehouse for the tests of a file: opening one takes longer than most of them. Each test finds it empty. */
export function oneWarehouse(use: (warehouse: Warehouse) => void): void {
  let warehouse: Warehouse;
  beforeAll(async () => {
    warehouse = await open();
    use(warehouse);
  });
  beforeEach(() => empty(warehouse));
  afterAll(() => warehouse.close());
}

/** Deletes all rows but the record of migrations, and of what was made, which is that of an empty warehouse too. */
export async function empty(warehouse: Warehouse): Promise<void> {
  const tables = await warehouse.all<{ name: string }>(
    `SELECT schema_name || '.' || table_name AS name FROM duckdb_tables()
      WHERE NOT temporary AND table_name NOT IN ('migrations', 'made') AND estimated_size > 0`,
  );
  if (tables.length > 0) await warehouse.run(tables.map(({ name }) => `DELETE FROM ${name}`).join(';'));
}

/** The time `second` seconds after an arbitrary start. */
export function at(second: number): Date {
  return new Date(Date.UTC(2026, 0, 1) + second * 1000);
}

export function doc(
  endpoint: string,
  id: string,
  second: number,
  body: object = {},
  parentId?: string,
): Document {
  return {
    endpoint,
    id,
    parentId: parentId ?? null,
    body: JSON.stringify({ id, ...body }),
    fetchedAt: at(second),
    answerNo: second,
  };
}

export function members(
  endpoint: string,
  parentId: string,
  second: number,
  ids: readonly string[],
): MemberSet {
  return { endpoint, parentId, ids, fetchedAt: at(second), answerNo: second, isWhole: true };
}

/** Every row of every typed table and of raw.documents, in an order of their own, as text. */
export async function contents(warehouse: Warehouse): Promise<Record<string, string[]>> {
  const tables = await warehouse.all<{ name: string }>(
    `SELECT schema_name || '.' || table_name AS name FROM duckdb_tables()
      WHERE schema_name = 'main' AND NOT temporary OR table_name = 'documents' ORDER BY 1`,
  );
  const found: Record<string, string[]> = {};
  for (const { name } of tables) {
    const rows = await warehouse.all<{ row: string }>(`SELECT t::VARCHAR AS row FROM ${name} t ORDER BY 1`);
    if (rows.length > 0) found[name] = rows.map(({ row }) => row);
  }
  return found;
}
