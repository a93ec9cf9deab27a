import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomicallySync } from '../../base/atomic-file.js';
import {
  type DataDir,
  type EncryptionKey,
  fromStored,
  toStored,
  withEitherKey,
} from '../../base/encryption.js';
import type { Grid } from '../../sheet/grid.js';
import { readSheet, type SheetOptions } from '../../sheet/read.js';
import type { ImportReport, ImportRow } from './report.js';
import type { ImportSource } from './source.js';

/** How long the copy of an imported file is kept. */
const maxAgeMs = 90 * 24 * 3_600_000;

/** An imported file as it was, and the outcome of each row: enough to write it back with results. */
export interface ImportCopy {
  readonly name: string;
  readonly grid: Grid;
  readonly rows: readonly ImportRow[];
}

/** What is saved as JSON: the grid only when there is no file beside it. */
type SavedImport = Omit<ImportCopy, 'grid'> & Partial<Pick<ImportCopy, 'grid'>> & SheetOptions;

/** Saves a copy of an imported file, so that a later push can write it back (`push --result`). Removes old copies. */
export function saveImportCopy(
  { dataDir, encryptionKey }: DataDir,
  source: ImportSource,
  report: ImportReport,
): void {
  const { bytes, name, grid, sheet } = source;
  // SQL has neither a file nor a hash: its rows have no place to write results to.
  if (source.hash === null) return;
  const folder = folderOf(dataDir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, report.importId);
  const write = (file: string, content: Uint8Array) =>
    writeFileSync(file, toStored(content, encryptionKey), { mode: 0o600 });
  if (bytes) write(`${path}.file`, bytes);
  const saved: SavedImport = { name, sheet, rows: report.rows, ...(!bytes && { grid }) };
  write(`${path}.json`, Buffer.from(JSON.stringify(saved)));
  removeOldCopies(folder);
}

/** The copy of an import; null when the import was not a file, or is too old. */
export async function readImportCopy(
  { dataDir, encryptionKey }: DataDir,
  importId: string,
): Promise<ImportCopy | null> {
  const path = join(folderOf(dataDir), importId);
  if (!statSync(`${path}.json`, { throwIfNoEntry: false })) return null;
  const stored = (file: string) => Buffer.from(fromStored(readFileSync(file), encryptionKey, file));
  const { name, sheet, rows, grid } = JSON.parse(stored(`${path}.json`).toString()) as SavedImport;
  const read = () => readSheet({ bytes: stored(`${path}.file`), name }, { sheet });
  return { name, rows, grid: grid ?? (await read()) };
}

/** Rewrites every copy, which the key `old` encrypts, or none, or already the present one, with the present key. */
export function reencryptImportCopies(
  { dataDir, encryptionKey }: DataDir,
  old: EncryptionKey | undefined,
): void {
  const folder = folderOf(dataDir);
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const path = join(folder, name);
    const stored = readFileSync(path);
    const plain = withEitherKey([old, encryptionKey], (key) => fromStored(stored, key, path));
    writeAtomicallySync(path, toStored(plain, encryptionKey), { mode: 0o600 });
  }
}

function folderOf(dataDir: string): string {
  return join(dataDir, 'reports', 'imports');
}

function removeOldCopies(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > maxAgeMs) rmSync(path, { force: true });
  }
}
