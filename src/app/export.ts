import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Json } from '../base/json.js';
import {
  type CsvOptions,
  type Exported,
  type ExportFormat,
  exportAll,
  exportQuery,
  relationIn,
  relationsIn,
} from '../read/export.js';
import type { Snapshot } from '../read/query.js';
import { cellOf, columnTypeOf } from '../sheet/cells.js';
import type { Cell, SheetColumn } from '../sheet/grid.js';
import { writeSheetFile } from '../sheet/write.js';
import { type TableSheet, type WrittenTable, writeWorkbook } from '../sheet/write-workbook.js';
import { recordExport, refuseUnrecorded } from './audit.js';
import { readingLimitsOf, type Setup } from './setup.js';
import { withSnapshot } from './snapshot.js';

/** `signalhouse export`: files for other programs, of the published snapshot. */

/** Writes a table, a view or a query result of the published snapshot to a file. */
export async function exportOne(
  setup: Setup,
  what: Parameters<typeof exportQuery>[0],
  to: CsvOptions & { readonly out: string; readonly format: ExportFormat; readonly force: boolean },
): Promise<Exported> {
  refuseUnrecorded(setup);
  const done = await exportQuery(what, { ...readingLimitsOf(setup.config), ...to });
  const tables =
    'table' in what
      ? [what.table]
      : await withSnapshot(setup, async (snapshot) => snapshot.tablesOf(what.sql));
  recordExport(setup, { tables, format: to.format, rows: done.rows, file: done.path });
  return done;
}

/** Writes every table and view of the published snapshot to a folder. */
export async function exportEverything(
  setup: Setup,
  dir: string,
  force: boolean,
  stop?: AbortSignal,
): Promise<Exported[]> {
  refuseUnrecorded(setup);
  const done = await exportAll({ ...readingLimitsOf(setup.config), dir, force, stop });
  const rows = done.reduce((sum, one) => sum + one.rows, 0);
  recordExport(setup, { tables: done.map(({ name }) => name), format: 'parquet', rows, file: resolve(dir) });
  return done;
}

/** What a workbook gets: one table or view, the result of one query, or every table and view. */
export type WorkbookContent = { readonly table: string } | { readonly sql: string } | 'everything';

/** A table in a workbook; `bytes` is the size of the whole file. */
export interface ExportedSheet extends Exported {
  /** Cells whose text was longer than a cell can hold, and was cut. */
  readonly cutCells: number;
}

/**
 * Writes an .xlsx file with a sheet for each table. Text is text, never a formula; a number that a spreadsheet program
 * cannot hold exactly is text. The file appears whole or not at all. Raises UsageError when a table has more rows or
 * columns than a sheet can have, when the file exists (without `force`), and what `exportQuery` raises.
 */
export async function exportWorkbook(
  setup: Setup,
  content: WorkbookContent,
  { out, force }: { readonly out: string; readonly force: boolean },
): Promise<ExportedSheet[]> {
  const path = resolve(out);
  refuseUnrecorded(setup);
  return withSnapshot(setup, async (snapshot) => {
    const selects = await selectsOf(snapshot, content);
    const tables: TableSheet[] = [];
    for (const { name, select } of selects) {
      const columns = await columnsOf(snapshot, select);
      const rows = rowsOf(snapshot, select, columns);
      tables.push({ name: sheetName(name, tables), columns, rows, exactText: true });
    }
    let written: readonly WrittenTable[] = [];
    await writeSheetFile(path, { overwrite: force }, async (file) => {
      written = await writeWorkbook(file, tables);
    });
    const { size: bytes } = await stat(path);
    const names = selects.map(({ name }) => name);
    const ofQuery = typeof content === 'object' && 'sql' in content ? content.sql : null;
    const count = written.reduce((sum, one) => sum + one.rows, 0);
    recordExport(setup, {
      tables: ofQuery === null ? names : snapshot.tablesOf(ofQuery),
      format: 'xlsx',
      rows: count,
      file: path,
    });
    return written.map((one, at) => ({ name: names[at] ?? '', path, ...one, bytes }));
  });
}

/** The names and queries of what is exported. */
async function selectsOf(
  snapshot: Snapshot,
  content: WorkbookContent,
): Promise<{ readonly name: string; readonly select: string }[]> {
  if (content !== 'everything' && 'sql' in content)
    return [{ name: 'query', select: `FROM (${await snapshot.oneSelect(content.sql)}\n)` }];
  const wanted =
    content === 'everything' ? await relationsIn(snapshot) : [await relationIn(snapshot, content.table)];
  return wanted.map(({ label, sql }) => ({
    name: content === 'everything' ? label : content.table,
    select: `FROM ${sql}`,
  }));
}

/** Excel keeps this name for a sheet of its own, and calls a file with another one corrupt. */
const reserved = 'history';

/** A name that a sheet can have, and that no other has: Excel allows 31 characters, in any case. */
function sheetName(name: string, others: readonly TableSheet[]): string {
  const taken = new Set([reserved, ...others.map((one) => one.name.toLowerCase())]);
  const allowed = name.replace(/[[\]:*?/\\]/g, '_').slice(0, 31);
  let free = allowed;
  for (let at = 2; taken.has(free.toLowerCase()); at++) free = `${allowed.slice(0, 28)}_${at}`;
  return free;
}

const widths = { text: 28, number: 12, count: 12, boolean: 10, time: 20, date: 12 } as const;

async function columnsOf(snapshot: Snapshot, select: string): Promise<SheetColumn[]> {
  const described = await snapshot.all<{ column_name: string; column_type: string }>(`DESCRIBE ${select}`);
  return described.map(({ column_name: key, column_type: duckdb }) => {
    const type = columnTypeOf(duckdb);
    return { key, type, width: widths[type] };
  });
}

async function* rowsOf(
  snapshot: Snapshot,
  select: string,
  columns: readonly SheetColumn[],
): AsyncGenerator<readonly Cell[]> {
  const cells = (row: readonly Json[]) => columns.map(({ type }, at) => cellOf(row[at] ?? null, type));
  for await (const { rows } of snapshot.answers(select)) for await (const row of rows) yield cells(row);
}
