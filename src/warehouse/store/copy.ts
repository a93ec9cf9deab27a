import { StorageError } from '../../base/errors.js';
import { identifier } from '../sql.js';
import type { Session } from './session.js';

/**
 * Copies every table of one attached database into another one, which is empty, and folds its log in. Says how many
 * tables there are; raises StorageError when a row was lost on the way. `andThen` adds to the copy before it is checked.
 */
export async function copyDatabase(
  session: Session,
  source: string,
  target: string,
  andThen: () => Promise<void> = async () => undefined,
): Promise<number> {
  await session.run(`COPY FROM DATABASE ${identifier(source)} TO ${target}`);
  await andThen();
  const tables = await compareCounts(session, source, target);
  await session.run(`CHECKPOINT ${target}`);
  return tables;
}

async function compareCounts(session: Session, source: string, target: string): Promise<number> {
  const tables = await session.all<{ schema: string; table: string }>(
    `SELECT schema_name AS schema, table_name AS "table" FROM duckdb_tables()
      WHERE database_name = $1 AND NOT temporary AND NOT internal ORDER BY ALL`,
    [source],
  );
  for (const { schema, table } of tables) {
    const name = `${identifier(schema)}.${identifier(table)}`;
    const [counts] = await session.all<{ here: number; there: number }>(
      `SELECT (SELECT count(*) FROM ${identifier(source)}.${name}) AS here, (SELECT count(*) FROM ${target}.${name}) AS there`,
    );
    if (!counts || counts.here !== counts.there) {
      throw new StorageError(`the copy has ${counts?.there} of ${counts?.here} rows of ${schema}.${table}`, {
        hint: 'The file that it was for was left as it was. Run the command again; if it repeats, check the disk.',
      });
    }
  }
  return tables.length;
}
