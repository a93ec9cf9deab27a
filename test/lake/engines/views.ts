import { readFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Engine, EngineName } from './engines.js';

/** The cells of a view, as every engine can show them: times as microseconds since 1970, days and times of day as text. */
export interface Cells {
  readonly columns: readonly Column[];
  readonly rows: readonly unknown[][];
}

interface Column {
  readonly name: string;
  readonly type: string;
}

/** A statement of a file of views. */
export interface Statement {
  readonly view: string;
  readonly sql: string;
}

/** The statements that create the views in an engine, with the hours of work that `changeWarehouse` sets. */
export function statementsOf(name: EngineName): Statement[] {
  const text = readFileSync(new URL(`../../../sql/lake/${name.toLowerCase()}.sql`, import.meta.url), 'utf8');
  return text
    .split(';\n')
    .filter((statement) => statement.includes('CREATE'))
    .map((sql) => {
      const view = /^CREATE OR REPLACE VIEW (\w+)$/m.exec(sql)?.[1] ?? '';
      if (view !== 'business_hours') return { view, sql };
      const changed = [
        ["'UTC'", "'Europe/Berlin'"],
        ['1, 2, 3, 4, 5', '1, 2, 3, 4, 5, 6'],
        ["'09:00:00'", "'08:30:00'"],
        ["'17:00:00'", "'18:15:00'"],
      ].reduce((changing, [from = '', to = '']) => {
        if (!changing.includes(from)) throw new Error(`the view business_hours has no ${from}`);
        return changing.replace(from, to);
      }, sql);
      return { view, sql: changed };
    });
}

/**
 * Puts into a published file what the sandbox seldom has: chains of merges, merges in a circle, an account of two people,
 * messages without time or author, values and dates in other forms, and other hours of work.
 */
export async function changeWarehouse(path: string): Promise<void> {
  const merge = (type: string, source: string, target: string, time = 'merged_at') =>
    `INSERT INTO merges BY NAME SELECT * REPLACE ('${type}' AS entity_type, '${source}' AS source_id, ${target} AS target_id,
       ${time} AS merged_at) FROM merges LIMIT 1`;
  const record = (suffix: string, changes: string, before: string, time = 'changed_at + INTERVAL 1 HOUR') =>
    `INSERT INTO history BY NAME SELECT * REPLACE (id || '${suffix}' AS id, ${time} AS changed_at, '${changes}' AS changes,
       '${before}' AS previous_values, 'UPDATE' AS operation)
       FROM (SELECT * FROM history WHERE entity_type = 'topic' ORDER BY id OFFSET ${suffix.length * 3} LIMIT 3)`;
  await withDatabase(path, {}, async (run) => {
    for (const sql of [
      merge('person', 'gone_1', "'gone_2'"),
      merge('person', 'gone_2', "'gone_3'"),
      merge('person', 'gone_3', "'gone_4'"),
      merge('person', 'gone_4', '(SELECT min(id) FROM people WHERE deleted_at IS NULL)'),
      merge('person', 'fork', "'gone_3'"),
      merge('person', 'fork', "'nobody'", 'NULL'),
      merge('company', 'circle_1', "'circle_2'"),
      merge('company', 'circle_2', "'circle_1'"),
      merge('company', 'into_circle', "'circle_1'"),
      merge('company', 'old', '(SELECT min(id) FROM companies WHERE deleted_at IS NULL)'),
      "UPDATE people SET company_id = 'old' WHERE id IN (SELECT id FROM people ORDER BY id LIMIT 4)",
      "INSERT INTO company_employees BY NAME SELECT * REPLACE ('old' AS company_id) FROM (FROM company_employees LIMIT 5)",
      "INSERT INTO person_identities BY NAME SELECT * REPLACE ('gone_1' AS person_id) FROM (FROM person_identities ORDER BY person_id LIMIT 6)",
      "INSERT INTO person_identities BY NAME SELECT * REPLACE ('nobody' AS person_id) FROM (FROM person_identities ORDER BY person_id DESC LIMIT 6)",
      `INSERT INTO topic_people BY NAME SELECT * REPLACE ('gone_2' AS person_id, NULL AS is_staff, true AS is_vip)
         FROM (FROM topic_people QUALIFY row_number() OVER (PARTITION BY topic_id ORDER BY person_id) = 1 ORDER BY topic_id LIMIT 5)`,
      'UPDATE topic_people SET display_name = NULL, is_bot = NULL WHERE hash(person_id) % 3 = 0',
      'UPDATE messages SET created_at = NULL WHERE hash(id) % 29 = 0',
      'UPDATE messages SET author_id = NULL WHERE hash(id) % 31 = 0',
      'UPDATE messages SET created_at = synced_at + INTERVAL 1 DAY WHERE hash(id) % 37 = 0',
      'UPDATE messages SET is_internal = true WHERE hash(id) % 11 = 0',
      'UPDATE companies SET is_vip = true WHERE hash(id) % 3 = 0',
      "UPDATE topics SET priority = 'urgent' WHERE hash(id) % 7 = 0",
      'UPDATE topics SET created_at = NULL WHERE hash(id) % 5 = 0',
      record('x', '{"archivedAt":"2026-05-01T10:00Z"}', '{"archivedAt":null}'),
      record('xx', '{"archivedAt":1777629600}', '{}'),
      record('xxx', '{"archivedAt":"1777629600000"}', '{"archivedAt":"2026-04-01"}'),
      record('xxxx', '{"archivedAt":"2026-05-01 10:00:00.123456Z"}', 'null'),
      record('xxxxx', '{"archived":true,"title":null,"lifecycleState":null}', '[]'),
      record('xxxxxx', '{"priority":5,"lifecycleState":"open"}', '"text"'),
      record('xxxxxxx', '{"lifecycleState":"completed"}', '{}', 'NULL'),
      `CREATE OR REPLACE VIEW business_hours AS SELECT 'Europe/Berlin' AS timezone, [1, 2, 3, 4, 5, 6] AS days,
         TIME '08:30' AS opens, TIME '18:15' AS closes`,
    ])
      await run(sql);
  });
}

/** The views of a published file. */
export function localViews(path: string, views: readonly string[]): Promise<Map<string, Cells>> {
  return withDatabase(path, { access_mode: 'READ_ONLY' }, async (run) => {
    const found = new Map<string, Cells>();
    for (const view of views) {
      const columns = (await run(
        `SELECT { name: column_name, type: data_type } FROM duckdb_columns()
          WHERE database_name = 'signals' AND schema_name = 'main' AND table_name = '${view}' ORDER BY column_index`,
      )) as Column[];
      const cells = columns.map((column) => `to_json(${shown('DuckDB', column)})`);
      found.set(view, {
        columns,
        rows: (await run(`SELECT [${cells.join(', ')}] FROM ${view}`)) as unknown[][],
      });
    }
    return found;
  });
}

/** What differs between a view of the published file and the same view in an engine; null when nothing does. */
export async function differenceIn(
  engine: Engine,
  name: EngineName,
  view: string,
  { columns, rows }: Cells,
): Promise<string | null> {
  const described = (await engine.ask(`DESCRIBE ${view}`)).map(([column]) => column);
  const names = columns.map((column) => column.name);
  if (described.join() !== names.join()) return `columns: ${names.join()} here, ${described.join()} there`;
  const list = columns.map((column) => shown(name, column)).join(', ');
  return differenceOf(columns, rows, await engine.ask(`SELECT ${list} FROM ${view}`));
}

/** The first difference between the rows of a view, in any order; null when there is none. */
export function differenceOf(
  columns: readonly Column[],
  here: readonly unknown[][],
  there: readonly unknown[][],
): string | null {
  if (there.length !== here.length) return `${here.length} rows here, ${there.length} there`;
  const right = inOrder(columns, there);
  for (const [index, row] of inOrder(columns, here).entries()) {
    const other = right[index] ?? [];
    const at = columns.findIndex(({ type }, place) => !isEqual(type, row[place], other[place]));
    if (at !== -1) {
      return `${columns[at]?.name}: ${JSON.stringify(row[at])} here, ${JSON.stringify(other[at])} there, in ${JSON.stringify(row)}`;
    }
  }
  return null;
}

function shown(name: EngineName | 'DuckDB', { name: column, type }: Column): string {
  const quoted = name === 'Spark' ? `\`${column}\`` : `"${column}"`;
  const isTime = type.startsWith('TIMESTAMP');
  if (isTime && name === 'DuckDB') return `epoch_us(${quoted})`;
  if (isTime && name === 'Spark') return `unix_micros(${quoted})`;
  if (isTime) return `CAST(to_unixtime(${quoted}) * 1e6 AS bigint)`;
  // Trino writes fractions of the second, and the others none.
  if (type === 'TIME' && name === 'Trino') return `substr(CAST(${quoted} AS varchar), 1, 8)`;
  return type === 'DATE' || type === 'TIME'
    ? `CAST(${quoted} AS ${name === 'Spark' ? 'string' : 'varchar'})`
    : quoted;
}

/** By everything but fractions, which may differ in the last digits. */
function inOrder(columns: readonly Column[], rows: readonly unknown[][]): unknown[][] {
  const isExact = (_: unknown, at: number) => columns[at]?.type !== 'DOUBLE';
  const keyed = rows.map((row) => {
    const fractions = row
      .filter((_, at) => !isExact(_, at))
      .map((value) => Number(value ?? -1).toPrecision(6));
    return { key: JSON.stringify([row.filter(isExact), fractions]), row };
  });
  return keyed.sort((one, other) => (one.key < other.key ? -1 : 1)).map(({ row }) => row);
}

function isEqual(type: string, one: unknown, other: unknown): boolean {
  if (type !== 'DOUBLE' || one === null || other === null)
    return JSON.stringify(one) === JSON.stringify(other);
  return Math.abs(Number(one) - Number(other)) <= 1e-9 * Math.max(1, Math.abs(Number(one)));
}

/** The first column of each row, from JSON. */
async function withDatabase<T>(
  path: string,
  options: Readonly<Record<string, string>>,
  work: (run: (sql: string) => Promise<unknown[]>) => Promise<T>,
): Promise<T> {
  const instance = await DuckDBInstance.create(path, { ...options });
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    return await work(async (sql) => {
      if (!sql.startsWith('SELECT')) return (await connection.run(sql)).getRows();
      const rows = await (
        await connection.run(`SELECT to_json(columns(*))::VARCHAR FROM (${sql}) AS answer`)
      ).getRows();
      return rows.map(([text]) => JSON.parse(String(text)) as unknown);
    });
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
