import { copyFileSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { openWarehouse } from '../../src/load/open.js';

let template: Promise<string> | undefined;

/**
 * Puts a warehouse into a folder that has none: empty and up to date, migrated once in a worker of the tests, with the views
 * and the rest of what is made once.
 */
export async function putWarehouse(dir: string): Promise<void> {
  if (existsSync(join(dir, 'worker.duckdb'))) return;
  template ??= migrate();
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  copyFileSync(join(await template, 'worker.duckdb'), join(dir, 'worker.duckdb'));
}

async function migrate(): Promise<string> {
  const dir = mkdtempSync(join(inject('runFolder'), 'template-'));
  const warehouse = await openWarehouse({ dataDir: dir, memoryLimit: '256MB', threads: 1 });
  await warehouse.readKnown();
  await warehouse.publish();
  await warehouse.run("DELETE FROM appended.made WHERE what = 'publication'");
  await warehouse.close();
  return dir;
}
