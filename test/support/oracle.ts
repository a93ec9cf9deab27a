import { isDeepStrictEqual } from 'node:util';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.js';
import { readModels } from '../../src/load/models.js';
import { hasHandler } from '../../src/sandbox/handlers/index.js';
import { Renderer } from '../../src/sandbox/handlers/renderer.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { conversationTables } from './expected/conversations.js';
import { historyTables, organizationTables } from './expected/organization.js';
import { companyTables, peopleTables } from './expected/people.js';
import type { Check, ExpectedTable, Row, Value } from './expected/row.js';
import { topicTables } from './expected/topics.js';
import { type Reader, read } from './published.js';

export interface Comparison {
  /**
   * Whether to compare columns that copy another entity, or whose change no field of a list shows: they are correct after
   * a first pull and after a sweep, and may lag in between.
   */
  readonly lagging?: boolean;
  /** The most lines to return. Default 40. */
  readonly most?: number;
  /** Columns to leave out, as `table.column`, or whole tables. */
  readonly except?: readonly string[];
}

/**
 * The differences between the published file and the API: one line for each row and column, with both values. The
 * expected rows are made from the sandbox's own organization and its answers, without any code of the client.
 */
export async function differences(
  sandbox: Pick<Sandbox, 'world'>,
  dataDir: string,
  comparing: Comparison = {},
): Promise<string[]> {
  return read(dataDir, async (reader) => {
    const kept = await reader.rows<{ id: unknown }>(ofUnreadableSql);
    const expected = expectedTables(sandbox, new Set(kept.map(({ id }) => id)));
    const found = [
      ...(await uncomparedTables(reader, expected)),
      ...(await versionProblems(reader)),
      ...(await analysisProblems(reader)),
    ];
    for (const table of expected) found.push(...(await tableDifferences(reader, table, comparing)));
    return found.slice(0, comparing.most ?? 40);
  });
}

/**
 * Conversations, with their messages, that no readable topic has, and one had that was dissolved or archived in the migration
 * (docs/assumptions.md).
 */
const ofUnreadableSql = `
  WITH unreadable AS (
    SELECT group_id
    FROM topic_groups JOIN topics ON topics.id = topic_id
    GROUP BY group_id
    HAVING bool_and(graph_status = 'superseded' OR detail_unavailable_reason IS NOT NULL)
  )
  SELECT group_id AS id FROM unreadable
  UNION ALL
  SELECT messages.id FROM messages JOIN unreadable USING (group_id)`;

/** The rows that every table must hold for the organization as it is now. */
function expectedTables(
  sandbox: Pick<Sandbox, 'world'>,
  ofUnreadable?: ReadonlySet<unknown>,
): ExpectedTable[] {
  const renderer = new Renderer(sandbox.world, { signedUrls: false });
  return [
    ...topicTables(renderer),
    ...peopleTables(renderer),
    ...companyTables(renderer),
    ...conversationTables(renderer, ofUnreadable),
    ...organizationTables(renderer),
    ...historyTables(renderer),
  ];
}

/** Tables that are not compared. Earlier versions of rows are checked on their own, because no API returns them. */
async function uncomparedTables(reader: Reader, expected: readonly ExpectedTable[]): Promise<string[]> {
  const tables = await reader.rows<{ table_name: string }>(
    "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal",
  );
  const all = [...expected, ...versionTables, ...analysisTables];
  const compared = new Set([...all.map(({ table }) => table), ...madeUpTables()]);
  return tables.flatMap(({ table_name: name }) => (compared.has(name) ? [] : [`${name}: is not compared`]));
}

/** The tables filled by endpoints that the sandbox has no handler for: nothing but its own answers says what they hold. */
function madeUpTables(): string[] {
  const isMadeUp = (kind: string) => kind in endpoints && !hasHandler(kind as EndpointName);
  return readModels().documents.flatMap(({ table, documents }) => (documents.every(isMadeUp) ? table : []));
}

const ownColumns = ['synced_at', 'run_id'];

async function tableDifferences(
  reader: Reader,
  expected: ExpectedTable,
  comparing: Comparison,
): Promise<string[]> {
  const { table, key, rows, otherRow, lagging = [], rowsLag = false } = expected;
  const { except = [], lagging: compareLagging = true } = comparing;
  if (except.includes(table) || (rowsLag && !compareLagging)) return [];
  const skipped = new Set([
    ...(compareLagging ? [] : lagging),
    ...except.flatMap((name) => (name.startsWith(`${table}.`) ? name.slice(table.length + 1) : [])),
  ]);
  const nameOf = (row: Row) => key.map((column) => String(row[column])).join(' ');
  const wanted = new Map(rows.map((row) => [nameOf(row), row]));
  const found: string[] = [];
  for (const column of await uncomparedColumns(reader, expected))
    found.push(`${table}.${column}: is not compared`);
  for (const row of await reader.table(table)) {
    const name = nameOf(row);
    const expectedRow = wanted.get(name) ?? otherRow?.(row) ?? null;
    if (!wanted.delete(name) && expectedRow === null) found.push(`${table} ${name}: should not be there`);
    for (const [column, value] of Object.entries(expectedRow ?? {})) {
      if (!skipped.has(column) && !matches(value, row[column])) {
        found.push(`${table} ${name}: ${column} is ${format(row[column])}, should be ${format(value)}`);
      }
    }
  }
  for (const name of wanted.keys()) found.push(`${table} ${name}: is missing`);
  return found;
}

/** Columns that no expected row names. */
async function uncomparedColumns(reader: Reader, { table, rows }: ExpectedTable): Promise<string[]> {
  if (rows.length === 0) return [];
  const named = new Set(rows.flatMap((row) => Object.keys(row)));
  return (await reader.columns(table)).filter((column) => !named.has(column) && !ownColumns.includes(column));
}

function matches(expected: Value | Check, actual: Value): boolean {
  if (typeof expected === 'function') return (expected as Check)(actual);
  return isDeepStrictEqual(withoutNulls(expected), withoutNulls(actual));
}

/** Removes fields that are null, because merging documents removes them. */
function withoutNulls(value: Value): Value {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value ?? null;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => (inner === null ? [] : [[name, withoutNulls(inner)]])),
  );
}

function format(value: Value): string {
  if (typeof value === 'function') return 'something else';
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

/** The tables of earlier versions of rows. No API returns these, so they are checked against the current rows. */
const versionTables = [
  { table: 'topic_versions', of: 'topics', key: 'topic_id' },
  { table: 'company_versions', of: 'companies', key: 'company_id' },
  { table: 'people_versions', of: 'people', key: 'person_id' },
] as const;

/** Rows that differ from their last version, and intervals with a gap, an overlap or no length. */
async function versionProblems(reader: Reader): Promise<string[]> {
  const found: string[] = [];
  for (const { table, of, key } of versionTables) {
    const columns = (await reader.columns(table)).filter(
      (name) => ![key, 'valid_from', 'valid_to', 'run_id'].includes(name),
    );
    const differ = columns.map((name) => `v.${name} IS DISTINCT FROM r.${name}`).join(' OR ');
    const unlike = await reader.rows<{ id: string }>(`
      SELECT coalesce(r.id, v.${key}) AS id FROM ${of} r
        FULL JOIN (FROM ${table} WHERE valid_to IS NULL) v ON v.${key} = r.id
       WHERE r.id IS NULL OR v.${key} IS NULL OR ${differ}`);
    const broken = await reader.rows<{ id: string }>(`
      SELECT id FROM (
        SELECT ${key} AS id, valid_from, valid_to, lead(valid_from) OVER (PARTITION BY ${key} ORDER BY valid_from) AS next
          FROM ${table})
       WHERE valid_to IS DISTINCT FROM next OR valid_to <= valid_from`);
    for (const { id } of unlike) found.push(`${table} ${id}: the last version differs from ${of}`);
    for (const { id } of broken) found.push(`${table} ${id}: its intervals are not consecutive`);
  }
  return found;
}

/** Tables of what this warehouse knows and no answer says. */
const analysisTables = [
  { table: 'history_requests' },
  { table: 'fetched_histories' },
  { table: 'topic_group_versions' },
  { table: 'duplicate_pairs' },
] as const;

/**
 * Conversations of which the open row is not where they are, or ends before it begins; requests of somebody else's records;
 * open pairs of what is gone.
 */
async function analysisProblems(reader: Reader): Promise<string[]> {
  const rows = await reader.rows<{ problem: string }>(`
    SELECT 'topic_group_versions: ' || coalesce(v.topic_id, g.topic_id) || ' ' || coalesce(v.group_id, g.group_id) AS problem
      FROM topic_groups g
      FULL JOIN (FROM topic_group_versions WHERE last_seen_at IS NULL) v USING (topic_id, group_id)
     WHERE v.topic_id IS NULL OR g.topic_id IS NULL
    UNION ALL
    SELECT 'topic_group_versions: ' || topic_id || ' ' || group_id || ' ends before it begins'
      FROM topic_group_versions WHERE last_seen_at < first_seen_at
    UNION ALL
    SELECT 'history_requests: ' || history_id
      FROM history_requests
      LEFT JOIN history h ON h.id = history_id
      LEFT JOIN ops.changes c ON c.id = change_id
     WHERE h.user_id IS NOT NULL OR c.first_sent_at IS NULL
        OR h.entity_id IS DISTINCT FROM coalesce(c.topic_id, c.company_id)
    UNION ALL
    SELECT 'duplicate_pairs: ' || id_1 || ' ' || id_2
      FROM duplicate_pairs
      LEFT JOIN (SELECT id FROM topics WHERE deleted_at IS NULL AND merged_into_id IS NULL UNION ALL SELECT id FROM people WHERE deleted_at IS NULL AND merged_into_id IS NULL) o ON o.id = id_1
      LEFT JOIN (SELECT id FROM topics WHERE deleted_at IS NULL AND merged_into_id IS NULL UNION ALL SELECT id FROM people WHERE deleted_at IS NULL AND merged_into_id IS NULL) t ON t.id = id_2
     WHERE (outcome = 'open') <> (o.id IS NOT NULL AND t.id IS NOT NULL) OR score NOT BETWEEN 0 AND 1 OR id_1 >= id_2`);
  return rows.map(({ problem }) => problem);
}
