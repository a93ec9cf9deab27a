import type { Statements } from '../store/session.js';
import { identifier } from '../store/sql.js';
import { columnNames, type Versions, validityColumns, versionsOf } from './models.js';
import { removedSql, runSql, type Stamp } from './stamp.js';

/** What happened to rows of a table whose versions are kept, each as SQL text. */
interface RowChanges {
  /** The rows that are new or differ from what they were, with the columns of their table. */
  readonly changed: string;
  /** The rows that were deleted: their id, and when that was found, in this order. */
  readonly deleted: string;
  /** The ids of rows with an answer that is later than every one before. */
  readonly answered: string;
  readonly stamp: Stamp;
}

/**
 * Closes the versions that are no longer valid, and opens those that are now. A version begins when the newest answer
 * behind it arrived; where the versioned columns are the same, no version begins. The intervals of a row are half open,
 * without gaps or overlaps, and two in a row always differ.
 *
 * What the same answer changes once more, or a document that was withdrawn, replaces the version that began then. A later
 * answer ends the version before it, however the clock was set meanwhile: where its time is not later, the new version
 * begins a microsecond after the last one. The last version of a row that is
 * deleted without a tombstone ends when that was found. A version that ends counts as changed.
 */
export async function recordVersions(
  tx: Statements,
  versions: Versions,
  { changed, deleted, answered, stamp }: RowChanges,
): Promise<void> {
  const table = `main.${identifier(versions.table)}`;
  const key = identifier(versions.key);
  const columns = await columnNames(tx, versions.table);
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE new_versions AS
      SELECT *, false AS deleted, ${key} IN (${answered}) AS answered FROM (${versionsOf(versions, columns, changed)});
    INSERT INTO new_versions (${key}, valid_from, deleted, answered) SELECT *, true, false FROM (${deleted})`);
  const content = columns.filter((name) => name !== versions.key && !validityColumns.includes(name));
  const replaced = await compareWithLatest(tx, versions, content, stamp);
  // Once more against the versions before the replaced ones: these are closed, so it cannot happen a second time.
  if (replaced) await compareWithLatest(tx, versions, content, stamp);
  await tx.run(`
    UPDATE ${table} SET valid_to = c.since, run_id = ${runSql(stamp)} FROM version_changes c WHERE ${table}.rowid = c.rid AND c.last_to IS NULL;
    UPDATE ${table} SET valid_to = NULL, run_id = ${runSql(stamp)} FROM version_changes c WHERE ${table}.rowid = c.rid AND c.reopens;
    INSERT INTO ${table} BY NAME SELECT * EXCLUDE (since, deleted, answered, rid, last_from, last_to, same, reopens)
                                        REPLACE (since AS valid_from)
                                   FROM version_changes WHERE NOT deleted AND NOT reopens;
    DROP TABLE temp.new_versions; DROP TABLE temp.version_changes; DROP TABLE temp.latest`);
}

/**
 * Leaves in `version_changes` one row for each new version that differs from the last one, with the time (`since`) from
 * which it is valid. Deletes the versions for which no time is left; returns whether there were any.
 */
async function compareWithLatest(
  tx: Statements,
  versions: Versions,
  content: readonly string[],
  stamp: Stamp,
): Promise<boolean> {
  const table = `main.${identifier(versions.table)}`;
  const key = identifier(versions.key);
  const same = content
    .map((name) => `l.${identifier(name)} IS NOT DISTINCT FROM n.${identifier(name)}`)
    .join(' AND ');
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE latest AS
      SELECT v.rowid AS rid, v.* FROM ${table} v
        JOIN (SELECT ${key}, max(valid_from) AS valid_from FROM ${table}
               WHERE ${key} IN (SELECT ${key} FROM new_versions) GROUP BY ${key}) m
          ON m.${key} = v.${key} AND m.valid_from = v.valid_from;
    CREATE OR REPLACE TEMP TABLE version_changes AS
      SELECT *, same AND last_to = since AS reopens FROM (
        SELECT n.*, greatest(n.valid_from, l.valid_to, CASE WHEN n.answered THEN l.valid_from + INTERVAL 1 MICROSECOND ELSE l.valid_from END)
                 AS since, l.rid, l.valid_from AS last_from, l.valid_to AS last_to, NOT n.deleted AND l.rid IS NOT NULL AND ${same} AS same
          FROM new_versions n LEFT JOIN latest l ON l.${key} = n.${key})
       WHERE NOT (same AND last_to IS NULL)`);
  const emptied = 'rowid IN (SELECT rid FROM version_changes WHERE last_to IS NULL AND last_from = since)';
  await tx.run(
    removedSql({ name: versions.table, key: [versions.key, 'valid_from'], all: [] }, emptied, stamp),
  );
  return (await tx.run(`DELETE FROM ${table} WHERE ${emptied}`)) > 0;
}
