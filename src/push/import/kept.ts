import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Grid } from '../../sheet/grid.js';
import { readSheet } from '../../sheet/read.js';
import type { ImportReport, ImportRow } from './report.js';
import type { ImportSource } from './source.js';

/** How long a file is kept for its result. */
const keptMs = 90 * 24 * 3_600_000;

/** An imported file as it was, and what became of its rows: enough to hand it back with results. */
export interface KeptImport {
  readonly name: string;
  readonly grid: Grid;
  readonly rows: readonly ImportRow[];
}

/** Keeps a file that was imported, so that a later push can hand it back (`push --result`); older ones go. */
export function keepImport(dataDir: string, { bytes, name }: ImportSource, report: ImportReport): void {
  if (!bytes) return;
  const folder = folderOf(dataDir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, report.importId);
  writeFileSync(`${path}.file`, bytes, { mode: 0o600 });
  writeFileSync(`${path}.json`, JSON.stringify({ name, rows: report.rows }), { mode: 0o600 });
  removeOld(folder);
}

/** The file of an import; null for one that was no file, or is too old. */
export async function keptImport(dataDir: string, importId: string): Promise<KeptImport | null> {
  const path = join(folderOf(dataDir), importId);
  if (!statSync(`${path}.json`, { throwIfNoEntry: false })) return null;
  const { name, rows } = JSON.parse(readFileSync(`${path}.json`, 'utf8')) as Pick<
    KeptImport,
    'name' | 'rows'
  >;
  return { name, rows, grid: await readSheet({ bytes: readFileSync(`${path}.file`), name }) };
}

function folderOf(dataDir: string): string {
  return join(dataDir, 'reports', 'imports');
}

function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > keptMs) rmSync(path, { force: true });
  }
}
