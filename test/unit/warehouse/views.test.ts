import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { literal, sqlDir } from '../../../src/warehouse/sql.js';
import { Session } from '../../../src/warehouse/store/session.js';
import { copyViews, prepareViews, schemaOf } from '../../../src/warehouse/views.js';
import { emptyDir } from './support.js';

const parts = { viewsDir: join(sqlDir, 'views'), businessHours: undefined };

/** A file `made`, with the tables and views as their SQL creates them. */
async function made(dir: string): Promise<Session> {
  const session = await Session.on(await DuckDBInstance.create(':memory:'), dir);
  await session.run(`ATTACH ${literal(join(dir, 'made.duckdb'))} AS made; USE made; BEGIN`);
  for (const sql of schemaOf(parts)) await session.run(sql);
  await session.run('COMMIT');
  return session;
}

test('views that the build prepared are, for readers of the file, those that their SQL creates', async () => {
  const dir = emptyDir();
  const session = await made(dir);
  const dist = emptyDir();
  await prepareViews(dist);
  await session.run(`ATTACH ${literal(join(dir, 'published.duckdb'))} AS published; USE published`);
  await session.run('CREATE SCHEMA raw; CREATE SCHEMA ops');
  // A file that is missing or broken is not used, and neither is one where the views are already.
  const broken = join(dir, 'views.duckdb');
  expect(await copyViews(session, 'published', broken)).toBe(false);
  writeFileSync(broken, 'not a database');
  expect(await copyViews(session, 'published', broken)).toBe(false);
  const prepared = join(dist, String(readdirSync(dist)[0]));
  expect(await copyViews(session, 'made', prepared)).toBe(false);
  expect(await copyViews(session, 'published', prepared)).toBe(true);
  // As readers find them: DuckDB shows the text of a view differently before it has been stored.
  await session.run('USE memory');
  for (const name of ['made', 'published'])
    await session.run(
      `DETACH ${name}; ATTACH ${literal(join(dir, `${name}.duckdb`))} AS ${name} (READ_ONLY)`,
    );

  const same = async (sql: string) => {
    const rows = await session.all(sql, ['published']);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows).toEqual(await session.all(sql, ['made']));
  };
  await same(`SELECT schema_name, view_name, comment, sql FROM duckdb_views()
               WHERE database_name = $1 AND NOT internal ORDER BY ALL`);
  await same(`SELECT view_name, column_name, data_type, duckdb_columns.comment
                FROM duckdb_columns() JOIN duckdb_views() USING (database_name, schema_name)
               WHERE database_name = $1 AND table_name = view_name AND NOT duckdb_views.internal ORDER BY ALL`);
  await same(`SELECT function_name, function_type, parameters, comment, macro_definition FROM duckdb_functions()
               WHERE database_name = $1 AND schema_name = 'main' AND NOT internal ORDER BY ALL`);
  const tables = `SELECT count(*) AS tables FROM duckdb_tables() WHERE database_name = 'published'`;
  expect(await session.all(tables)).toEqual([{ tables: 0 }]);
  await session.close();
});
