import { isDeepStrictEqual } from 'node:util';
import type { Sandbox } from '../../src/sandbox/start.js';
import { Renderer } from '../../src/sandbox/wire/renderer.js';
import { type Reader, read } from './published.js';
import { misremembered, remembered } from './remembered.js';
import { conversationTables } from './truth/conversations.js';
import { historyTables, organizationTables } from './truth/others.js';
import { companyTables, peopleTables } from './truth/people.js';
import type { Check, ExpectedTable, Row, Value } from './truth/row.js';
import { topicTables } from './truth/topics.js';

export interface Comparing {
  /**
   * Whether columns that copy another thing, or change without a field of a list betraying it, are compared: they are
   * true after a first pull and after a sweep, and may lag in between.
   */
  readonly lagging?: boolean;
  /** Lines at most; the first ones tell most. Default 40. */
  readonly most?: number;
  /** Columns left out, as `table.column`, or whole tables. */
  readonly except?: readonly string[];
}

/**
 * What the published file says otherwise than the API: one line for each row and column, with both values. The truth is
 * made from the sandbox's own organization by what it sends over the wire, without a line of the client's.
 */
export async function differences(
  sandbox: Sandbox,
  dataDir: string,
  comparing: Comparing = {},
): Promise<string[]> {
  const expected = truthOf(sandbox);
  return read(dataDir, async (reader) => {
    const found = [...(await untold(reader, expected)), ...(await misremembered(reader))];
    for (const table of expected) found.push(...(await differing(reader, table, comparing)));
    return found.slice(0, comparing.most ?? 40);
  });
}

/** What every table must hold, as the organization is now. */
export function truthOf(sandbox: Sandbox): ExpectedTable[] {
  const renderer = new Renderer(sandbox.world, { signedUrls: false });
  return [
    ...topicTables(renderer),
    ...peopleTables(renderer),
    ...companyTables(renderer),
    ...conversationTables(renderer),
    ...organizationTables(renderer),
    ...historyTables(renderer),
  ];
}

/** Tables that nobody compares; what is remembered of earlier states of rows is no state of the API. */
async function untold(reader: Reader, expected: readonly ExpectedTable[]): Promise<string[]> {
  const tables = await reader.rows<{ table_name: string }>(
    "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal",
  );
  const known = new Set([...expected, ...remembered].map(({ table }) => table));
  return tables.flatMap(({ table_name: name }) => (known.has(name) ? [] : [`${name}: compared by nobody`]));
}

const ours = ['synced_at', 'run_id'];

async function differing(reader: Reader, expected: ExpectedTable, comparing: Comparing): Promise<string[]> {
  const { table, key, rows, beyond, lags = [], lagsWhole = false } = expected;
  const { except = [], lagging = true } = comparing;
  if (except.includes(table) || (lagsWhole && !lagging)) return [];
  const skipped = new Set([
    ...(lagging ? [] : lags),
    ...except.flatMap((name) => (name.startsWith(`${table}.`) ? name.slice(table.length + 1) : [])),
  ]);
  const nameOf = (row: Row) => key.map((column) => String(row[column])).join(' ');
  const wanted = new Map(rows.map((row) => [nameOf(row), row]));
  const found: string[] = [];
  for (const column of await uncompared(reader, expected))
    found.push(`${table}.${column}: compared by nobody`);
  for (const row of await reader.table(table)) {
    const name = nameOf(row);
    const should = wanted.get(name) ?? beyond?.(row) ?? null;
    if (!wanted.delete(name) && should === null) found.push(`${table} ${name}: should not be there`);
    for (const [column, value] of Object.entries(should ?? {})) {
      if (!skipped.has(column) && !fits(value, row[column])) {
        found.push(`${table} ${name}: ${column} is ${shown(row[column])}, should be ${shown(value)}`);
      }
    }
  }
  for (const name of wanted.keys()) found.push(`${table} ${name}: is missing`);
  return found;
}

/** Columns that no expected row names. */
async function uncompared(reader: Reader, { table, rows }: ExpectedTable): Promise<string[]> {
  if (rows.length === 0) return [];
  const named = new Set(rows.flatMap((row) => Object.keys(row)));
  return (await reader.columns(table)).filter((column) => !named.has(column) && !ours.includes(column));
}

function fits(expected: Value | Check, actual: Value): boolean {
  if (typeof expected === 'function') return (expected as Check)(actual);
  return isDeepStrictEqual(bare(expected), bare(actual));
}

/** Without fields that are null: merging documents takes them away. */
function bare(value: Value): Value {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== 'object' || value === null) return value ?? null;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => (inner === null ? [] : [[name, bare(inner)]])),
  );
}

function shown(value: Value): string {
  if (typeof value === 'function') return 'something else';
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
