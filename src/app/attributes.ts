import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { iso, millis } from '../base/clock.js';
import { messageOf, SignalhouseError, StorageError } from '../base/errors.js';
import type { Cell, Grid } from '../sheet/grid.js';
import { readSheet } from '../sheet/read.js';
import type {
  AttributeColumn,
  AttributeFile,
  AttributeProblem,
  AttributeRow,
} from '../warehouse/attributes.js';

/** The file may be any that a spreadsheet program writes. */
const attributeFiles = ['csv', 'xlsx', 'ods'].map((type) => join('attributes', `companies.${type}`));

/**
 * Reads attributes/companies.csv (or .xlsx, .ods) of a data directory: one row a company, named by `company_id` or `domain`, and
 * any other columns. Null where there is none. Never throws for what is in the file: it belongs to users, and must not keep
 * a night's data from being published. What cannot be used is in `problems`, and the rest counts.
 */
export async function readAttributes(dataDir: string): Promise<AttributeFile | null> {
  const found = attributeFiles.filter((one) => existsSync(join(dataDir, one)));
  const [file] = found;
  if (file === undefined) return null;
  const others = found.slice(1).map((other) => ({ row: null, problem: `${other} is not read beside it` }));
  const path = join(dataDir, file);
  try {
    // Reading a pipe would wait for ever.
    if (!statSync(path).isFile()) throw new StorageError('is not a file');
    const read = attributesOf(await readSheet({ path }));
    return { file, ...read, problems: [...others, ...read.problems] };
  } catch (error) {
    if (!(error instanceof SignalhouseError)) throw error;
    const problem = { row: null, problem: messageOf(error) };
    return { file, columns: [], rows: [], problems: [...others, problem] };
  }
}

/** Takes a sheet apart; what is wrong with a row or cell is told, and concerns it alone. */
export function attributesOf(grid: Grid): Omit<AttributeFile, 'file'> {
  const problems: AttributeProblem[] = [];
  const places: { readonly name: string; readonly at: number }[] = [];
  for (const [at, header] of grid.columns.entries()) {
    const name = columnName(header);
    if (header === '') continue;
    if (name === '' || places.some((one) => one.name === name))
      problems.push({
        row: null,
        problem: `the column "${header}" needs a name of its own, of letters and digits`,
      });
    else places.push({ name, at });
  }
  const named = (...names: string[]) => places.find(({ name }) => names.includes(name));
  const id = named('company_id');
  const domain = named('domain', 'primary_domain');
  if (!id && !domain) {
    const problem = `has no column company_id or domain; its columns are ${grid.columns.filter(Boolean).join(', ')}`;
    return { columns: [], rows: [], problems: [{ row: null, problem }] };
  }
  const rows: AttributeRow[] = [];
  const used: Grid['rows'][number][] = [];
  for (const row of grid.rows) {
    const companyId = id ? textOf(row.cells[id.at]) : null;
    const ofDomain = domain ? domainOf(textOf(row.cells[domain.at])) : null;
    if (companyId === null && ofDomain === null) {
      problems.push({ row: row.number, problem: 'names no company' });
      continue;
    }
    used.push(row);
    rows.push({ row: row.number, company_id: companyId, domain: ofDomain, cells: [] });
  }
  const columns = places
    .filter((one) => one !== id && one !== domain)
    .map(({ name, at }) =>
      readColumn(
        name,
        used.map((row) => ({ row: row.number, cell: row.cells[at] ?? null })),
        problems,
      ),
    );
  return {
    columns: columns.map(({ column }) => column),
    rows: rows.map((row, at) => ({ ...row, cells: columns.map(({ cells }) => cells[at] ?? null) })),
    problems,
  };
}

/** `Annual revenue (EUR)` as `annual_revenue_eur`. */
function columnName(header: string): string {
  return header
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/^_+|_+$/g, '');
}

function textOf(cell: Cell | undefined): string | null {
  const text = cell instanceof Date ? cell.toISOString().slice(0, 10) : String(cell ?? '').trim();
  return text === '' ? null : text;
}

/** The domain of an address such as `https://www.example.com/about`. */
function domainOf(text: string | null): string | null {
  const bare = text
    ?.toLowerCase()
    .replace(/^[a-z]+:\/\//, '')
    .replace(/^www\./, '')
    .replace(/[/:?#].*$/, '');
  return bare === undefined || bare === '' ? null : bare;
}

const readers: readonly {
  readonly type: AttributeColumn['type'];
  readonly what: string;
  readonly read: (cell: Cell) => string | null;
}[] = [
  {
    type: 'BOOLEAN',
    what: 'TRUE or FALSE',
    read: (cell) => /^(true|false)$/i.exec(String(cell))?.[0].toLowerCase() ?? null,
  },
  { type: 'DOUBLE', what: 'a number such as 1234567.89', read: numberOf },
  {
    type: 'DATE',
    what: 'a date such as 2026-03-31',
    read: dateOf,
  },
];

/** A day that exists: DuckDB would make NULL of the 30th of February, and nobody would be told. */
function dateOf(cell: Cell): string | null {
  if (cell instanceof Date) return cell.toISOString().slice(0, 10);
  const [text] = /^\d{4}-\d\d-\d\d$/.exec(String(cell).trim()) ?? [];
  if (text === undefined) return null;
  const time = millis(`${text}T00:00:00Z`);
  return time !== null && iso(time).startsWith(text) ? text : null;
}

/** `1234`, `-12.5`, `1,234,567.89` and `1 234 567`; nothing else is sure to be meant so, and `007` is an id. */
function numberOf(cell: Cell): string | null {
  if (typeof cell === 'number') return String(cell);
  if (typeof cell !== 'string') return null;
  const text = cell.trim();
  if (/^-?0\d/.test(text)) return null;
  if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return Number.isFinite(Number(text)) ? text : null;
  return /^-?\d{1,3}([,'\s]\d{3})+(\.\d+)?$/.test(text) ? text.replace(/[,'\s]/g, '') : null;
}

/** Whether the point of a number may be one of thousands: `1.200` of a German Excel is 1200. */
function isUnclear(cell: Cell): boolean {
  return typeof cell === 'string' && /^-?[1-9]\d{0,2}\.\d{3}$/.test(cell.trim());
}

/** More than half of the values decide the type of a column; one that does not fit it is left out, and told. */
function readColumn(
  name: string,
  values: readonly { readonly row: number; readonly cell: Cell }[],
  problems: AttributeProblem[],
): { readonly column: AttributeColumn; readonly cells: readonly (string | null)[] } {
  const filled = values.filter(({ cell }) => textOf(cell) !== null);
  // Another number with a point shows what it means.
  const isClear = filled.some(
    ({ cell }) => cell !== null && String(cell).includes('.') && numberOf(cell) !== null && !isUnclear(cell),
  );
  const readCell = (cell: Cell, { read }: (typeof readers)[number]) =>
    cell === null || (isUnclear(cell) && !isClear) ? null : read(cell);
  const reader = readers.find(
    (one) => filled.filter(({ cell }) => readCell(cell, one) !== null).length * 2 > filled.length,
  );
  if (!reader) {
    const looksLikeNumbers = filled.filter(({ cell }) =>
      /^(?!-?0\d)[\d\s.,'€$£-]*\d[\d\s.,'€$£-]*$/.test(textOf(cell) ?? ''),
    );
    if (looksLikeNumbers.length * 2 > filled.length)
      problems.push({
        row: null,
        problem: `${name} is read as text, and not summed: write its numbers as 1234567.89 (row ${looksLikeNumbers[0]?.row} has ${textOf(looksLikeNumbers[0]?.cell)})`,
      });
    return { column: { name, type: 'VARCHAR' }, cells: values.map(({ cell }) => textOf(cell)) };
  }
  const cells = values.map(({ row, cell }) => {
    const text = textOf(cell);
    const read = text === null ? null : readCell(cell, reader);
    if (text !== null && read === null)
      problems.push({ row, problem: `${name} is ${text}, not ${reader.what}` });
    return read;
  });
  return { column: { name, type: reader.type }, cells };
}
