import { identifier, literal } from '../sql.js';
import type { Statements } from '../store/session.js';
import type { Models } from './models.js';

/** A table whose key does not identify its rows. */
export interface KeyFault {
  readonly table: string;
  readonly key: readonly string[];
  /** Rows beyond the first of their key. */
  readonly repeated: number;
  /** Rows in which a part of the key is null. */
  readonly nulls: number;
}

/** raw and ops have no model that names their keys; a part that may be null has a question mark. */
const otherKeys: readonly { readonly table: string; readonly key: readonly string[] }[] = [
  { table: 'raw.documents', key: ['endpoint', 'parent_id?', 'id'] },
  { table: 'ops.migrations', key: ['version'] },
  { table: 'ops.runs', key: ['run_id'] },
  { table: 'ops.coverage', key: ['endpoint', 'entity_id'] },
  { table: 'ops.freshness', key: ['resource'] },
  { table: 'ops.rejected_records', key: ['endpoint', 'parent_id?', 'id?', 'path'] },
  { table: 'ops.schema_drift', key: ['endpoint', 'path', 'kind'] },
];

/**
 * Finds the tables in which a key is repeated or null. The database does not enforce keys, because indexes would halve
 * the speed and double the file; so they are checked after a rebuild, by `doctor`, and by the tests.
 */
export async function checkKeys(statements: Statements, models: Models): Promise<KeyFault[]> {
  const tables = [
    ...[...models.documents, ...models.derived].map(({ table, key }) => ({
      table: `main.${identifier(table)}`,
      key,
    })),
    ...models.documents.flatMap(({ versions }) =>
      versions ? [{ table: `main.${identifier(versions.table)}`, key: [versions.key, 'valid_from'] }] : [],
    ),
    ...otherKeys,
  ];
  const faults: KeyFault[] = [];
  for (const { table, key } of tables) {
    const columns = key.map((name) => identifier(name.replace('?', '')));
    const required = key.filter((name) => !name.endsWith('?')).map(identifier);
    const [row] = await statements.all<KeyFault>(
      `SELECT ${literal(table.replaceAll('"', ''))} AS "table",
              (count(*) - count(DISTINCT (${columns.join(', ')}, 0)))::BIGINT AS repeated,
              count(*) FILTER (${required.map((name) => `${name} IS NULL`).join(' OR ')}) AS nulls
         FROM ${table}`,
    );
    if (row && (row.repeated > 0 || row.nulls > 0)) {
      faults.push({ ...row, key: key.map((name) => name.replace('?', '')) });
    }
  }
  return faults;
}
