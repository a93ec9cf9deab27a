import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { iso, millis } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Session } from '../store/session.js';
import { literal } from '../store/sql.js';
import type { AttributeColumn, AttributeFile, AttributeProblem, AttributeRow } from './attributes.js';

export const attributesFile = join('attributes', 'companies.csv');

type Cell = string | null;

const maxMegabytes = 50;

/**
 * Reads attributes/companies.csv of a data directory: one row a company, named by `company_id` or `domain`, and any other
 * columns. Null where there is none. Never throws for what is in the file: it belongs to users, and must not keep a night's
 * data from being published. What cannot be used is in `problems`, and the rest counts.
 */
export async function readAttributes(
  session: Pick<Session, 'all'>,
  dataDir: string,
): Promise<AttributeFile | null> {
  const path = join(dataDir, attributesFile);
  if (!existsSync(path)) return null;
  const found = statSync(path);
  // Reading a pipe would wait forever.
  if (!found.isFile()) return unreadable('is not a file');
  if (found.size > maxMegabytes * 1024 * 1024) return unreadable(`is larger than ${maxMegabytes} MB`);
  try {
    // In one thread, so that the rows come in their order.
    const rows = await session.all<{ cells: readonly Cell[] }>(`
      SELECT [*COLUMNS(*)] AS cells
      FROM read_csv(${literal(path)}, header = false, all_varchar = true, null_padding = true, strict_mode = false,
        quote = '"', escape = '"', parallel = false)`);
    return { file: attributesFile, ...attributesOf(rows.map(({ cells }) => cells)) };
  } catch (error) {
    const text = messageOf(error);
    const reason = /not utf-8/i.test(text) ? 'save it as CSV UTF-8' : text.split('\n').slice(0, 2).join(' ');
    return unreadable(`cannot be read as CSV: ${reason}`);
  }
}

function unreadable(problem: string): AttributeFile {
  return { file: attributesFile, columns: [], rows: [], problems: [{ row: null, problem }] };
}

/** Takes the rows of a file apart; what is wrong with a row or cell is told, and concerns it alone. */
function attributesOf([headers = [], ...lines]: readonly (readonly Cell[])[]): Omit<AttributeFile, 'file'> {
  const problems: AttributeProblem[] = [];
  const places: { readonly name: string; readonly at: number }[] = [];
  for (const [at, given] of headers.entries()) {
    const header = textOf(given);
    if (header === null) continue;
    const name = columnName(header);
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
    const problem = `has no column company_id or domain; its columns are ${headers.filter(Boolean).join(', ')}`;
    return { columns: [], rows: [], problems: [{ row: null, problem }] };
  }
  const rows: AttributeRow[] = [];
  const used: { readonly row: number; readonly line: readonly Cell[] }[] = [];
  for (const [at, line] of lines.entries()) {
    // As a spreadsheet program counts them, where the headers are the first row.
    const row = at + 2;
    if (line.every((cell) => textOf(cell) === null)) continue;
    const companyId = id ? textOf(line[id.at]) : null;
    const ofDomain = domain ? domainOf(textOf(line[domain.at])) : null;
    if (companyId === null && ofDomain === null) {
      problems.push({ row, problem: 'names no company' });
      continue;
    }
    used.push({ row, line });
    rows.push({ row, company_id: companyId, domain: ofDomain, cells: [] });
  }
  const columns = places
    .filter((one) => one !== id && one !== domain)
    .map(({ name, at }) =>
      readColumn(
        name,
        used.map(({ row, line }) => ({ row, text: textOf(line[at]) })),
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

function textOf(cell: Cell | undefined): Cell {
  const text = cell?.trim() ?? '';
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

interface Reader {
  readonly type: AttributeColumn['type'];
  readonly what: string;
  readonly read: (text: string) => Cell;
}

const readers: readonly Reader[] = [
  {
    type: 'BOOLEAN',
    what: 'TRUE or FALSE',
    read: (text) => /^(true|false)$/i.exec(text)?.[0].toLowerCase() ?? null,
  },
  { type: 'DATE', what: 'a date such as 2026-03-31', read: dateOf },
];

/** Numbers with a point, as in English, and with a comma, as in German. */
const numberReaders: readonly Reader[] = (['.', ','] as const).map((point) => ({
  type: 'DOUBLE',
  what: 'a number such as 1234567.89',
  read: (text) => numberOf(text, point),
}));

/** A day that exists: DuckDB would make NULL of the 30th of February, and nothing would say so. */
function dateOf(text: string): Cell {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const time = millis(`${text}T00:00:00Z`);
  return time !== null && iso(time).startsWith(text) ? text : null;
}

/** `1234`, `-12.5`, `1,234,567.89` and `1 234 567`; nothing else is sure to be meant so, and `007` is an id. */
function numberOf(text: string, point: '.' | ','): Cell {
  if (/^-?0\d/.test(text)) return null;
  const [whole = '', fraction, ...more] = text.split(point);
  const digits = whole.replaceAll(point === '.' ? /[,'\s]/g : /[.'\s]/g, '');
  const isGrouped = digits !== whole;
  if (more.length > 0 || (isGrouped && !/^-?[1-9]\d{0,2}(?:[.,'\s]\d{3})+$/.test(whole))) return null;
  const number = fraction === undefined ? digits : `${digits}.${fraction}`;
  if (!/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(number)) return null;
  return Number.isFinite(Number(number)) ? number : null;
}

/**
 * More than half of the values decide the type of a column; one that does not fit it is left out, and told. Numbers are read by
 * one rule that fits all of them, and not where none does, or where another one would give other numbers: `1,500` alone.
 */
function readColumn(
  name: string,
  values: readonly { readonly row: number; readonly text: Cell }[],
  problems: AttributeProblem[],
): { readonly column: AttributeColumn; readonly cells: readonly Cell[] } {
  const filled = values.flatMap(({ row, text }) => (text === null ? [] : [{ row, text }]));
  const isMost = (some: readonly unknown[]) => some.length * 2 > filled.length;
  const numbers = filled.filter(({ text }) => numberReaders.some(({ read }) => read(text) !== null));
  const fitting = numberReaders.filter(({ read }) => numbers.every(({ text }) => read(text) !== null));
  const differing = numbers.find(({ text }) => new Set(fitting.map(({ read }) => read(text))).size !== 1);
  const reader = isMost(numbers)
    ? fitting.find(() => !differing)
    : readers.find(({ read }) => isMost(filled.filter(({ text }) => read(text) !== null)));
  if (!reader) {
    const looksLikeNumbers = filled.filter(({ text }) =>
      /^(?!-?0\d)[\d\s.,'€$£-]*\d[\d\s.,'€$£-]*$/.test(text),
    );
    const example = differing ?? looksLikeNumbers[0];
    if (isMost(looksLikeNumbers))
      problems.push({
        row: null,
        problem: `${name} is read as text, and not summed, because its numbers are ambiguous: write them as 1234567.89 (row ${example?.row} has ${example?.text})`,
      });
    return { column: { name, type: 'VARCHAR' }, cells: values.map(({ text }) => text) };
  }
  const cells = values.map(({ row, text }) => {
    const read = text === null ? null : reader.read(text);
    if (text !== null && read === null)
      problems.push({ row, problem: `${name} is ${text}, not ${reader.what}` });
    return read;
  });
  return { column: { name, type: reader.type }, cells };
}
