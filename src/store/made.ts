import { createHash } from 'node:crypto';
import type { Session, Statements } from './session.js';

/**
 * What the live file has that is made of the rest of it: the views that publications copy, the tables derived from others,
 * ops.entities, and the last publication.
 */
type What = 'views' | 'derived' | 'entities' | 'publication';

/** Until it is finished. */
const inTheMaking = '';

/**
 * Makes something with `make`, unless it was made of the same texts and `forgetMade` was not called since. What is made while
 * `forgetMade` is called, or while the process is killed, is made again the next time.
 */
export async function makeOnce<T>(
  session: Session,
  what: What,
  texts: readonly string[],
  make: () => Promise<T>,
): Promise<T | null> {
  const checksum = createHash('sha256').update(texts.join('\n')).digest('hex');
  const params = { what, checksum };
  const known = await session.all(
    'SELECT 1 FROM appended.made WHERE what = $what AND checksum = $checksum',
    params,
  );
  if (known.length > 0) return null;
  await session.transaction(async (tx) => {
    await forgetMade(tx, what);
    await tx.run('INSERT INTO appended.made VALUES ($what, $checksum)', { what, checksum: inTheMaking });
  });
  const made = await make();
  await session.run('UPDATE appended.made SET checksum = $checksum WHERE what = $what', params);
  return made;
}

/** What the next publication has to know of this one. */
export interface LastPublication {
  readonly ms: number;
  /** The users' files that were left out. */
  readonly leftOut: readonly string[];
}

/** What was noted of the last publication; undefined before the first one. */
export async function lastPublication(session: Session): Promise<LastPublication | undefined> {
  const [found] = await session.all<{ checksum: string }>(
    `SELECT checksum FROM appended.made WHERE what = 'publication'`,
  );
  return found && JSON.parse(found.checksum);
}

export async function notePublication(session: Session, published: LastPublication): Promise<void> {
  await session.transaction(async (tx) => {
    await forgetMade(tx, 'publication');
    await tx.run(`INSERT INTO appended.made VALUES ('publication', $noted)`, {
      noted: JSON.stringify(published),
    });
  });
}

/** Has something made again: call it in the transaction that changes what it is made of. */
export async function forgetMade(tx: Statements, what: What): Promise<void> {
  await tx.run('DELETE FROM appended.made WHERE what = $what', { what });
}

/**
 * Removes every view and table macro of the file that is in use, and attributes: one that is no longer wanted would be
 * published forever, and a table of a migration may have its name.
 */
export async function dropViews(session: Session): Promise<void> {
  // A published file says nothing of how its views were made.
  const [isLive] = await session.all(
    "SELECT 1 FROM duckdb_schemas() WHERE database_name = current_database() AND schema_name = 'appended'",
  );
  const drops = await viewDrops(session);
  await session.transaction(async (tx) => {
    if (isLive) await forgetMade(tx, 'views');
    await tx.run(drops.join(';\n'));
  });
}

/** The statements that remove every view and table macro of the file that is in use, and attributes. */
export async function viewDrops(session: Session): Promise<string[]> {
  const drops = await session.all<{ sql: string }>(`
    SELECT format('DROP VIEW "{}"."{}"', schema_name, replace(view_name, '"', '""')) AS sql
      FROM duckdb_views() WHERE database_name = current_database() AND NOT internal
    UNION ALL
    SELECT DISTINCT format('DROP MACRO {} main."{}"', if(function_type = 'table_macro', 'TABLE', ''), replace(function_name, '"', '""'))
      FROM duckdb_functions() WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal`);
  // What a file of the data directory said of companies, which each publication reads again.
  return [...drops.map(({ sql }) => sql), 'DROP SCHEMA IF EXISTS attributes CASCADE'];
}
