import { existsSync, rmSync } from 'node:fs';
import { LockedError, messageOf } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { RelationColumn } from '../warehouse/read/catalog.js';
import { identifier } from '../warehouse/sql.js';
import { attaching, filesOf, logOf, makePrivate } from '../warehouse/store/engine.js';
import { lockConflict } from '../warehouse/store/faults.js';
import type { Session } from '../warehouse/store/session.js';

/**
 * What this data directory published last, in a file of its own: which publication it was, and a hash of each row. While the
 * lake's last publication is that one, the hashes tell what has changed since, for every kind of change (a run, a rebuild,
 * a retention, another profile) and without reading a row of the lake. Losing the file costs one comparison with the lake.
 *
 * DuckDB's lock on the file also keeps a second publication of this data directory out.
 */
export interface Marker {
  readonly publicationId: string;
  /** The published file that it was made from. */
  readonly snapshot: string;
  /** Of the tables, types and comments that were asked for. */
  readonly schema: string;
  /** The columns that each table of the lake has. */
  readonly columns: Readonly<Record<string, readonly RelationColumn[]>>;
}

const database = 'marker';

/** Attaches the file, made new when it cannot be read. Raises LockedError while another publication has it open. */
export async function attachMarker(session: Session, dataDir: string, log: Pick<Log, 'warn'>): Promise<void> {
  const path = filesOf(dataDir).lake;
  const attach = async () => {
    await session.run(attaching(path, database));
    await session.run(`CREATE TABLE IF NOT EXISTS ${database}.publication (place VARCHAR, marker JSON)`);
  };
  try {
    await attach();
  } catch (error) {
    const conflict = lockConflict(error instanceof Error && error.cause ? error.cause : error);
    if (conflict) {
      const who = conflict.pid === undefined ? '' : ` (process ${conflict.pid})`;
      throw new LockedError(
        `another command is publishing this data directory to the lake${who}`,
        conflict.pid,
        { hint: 'Wait until it has ended, then run the command again.' },
      );
    }
    if (!existsSync(path)) throw error;
    log.warn(
      { err: messageOf(error) },
      `${path} cannot be read and is made new: this publication compares every row`,
    );
    await session.run(`DETACH DATABASE IF EXISTS ${database}`);
    for (const one of [path, logOf(path)]) rmSync(one, { force: true });
    await attach();
  }
  makePrivate(path);
}

/** Forgets what was published: the next publication compares every row. */
export async function clearMarker(session: Session): Promise<void> {
  await session.run(`DELETE FROM ${database}.publication; CHECKPOINT ${database}`);
}

/** What was published last to `place`; null when that is not known. */
export async function readMarker(session: Session, place: string): Promise<Marker | null> {
  const [row] = await session.all<{ place: string; marker: string }>(`SELECT * FROM ${database}.publication`);
  return row?.place === place ? (JSON.parse(row.marker) as Marker) : null;
}

/** The stored hashes of a table: `kh` of the key, `rh` of the whole row. */
export function hashesOf(table: string): string {
  return `${database}.${identifier(`rows_${table}`)}`;
}

/** Stores what was published: the hashes of `fresh` tables come from temporary tables, all others stay. */
export async function writeMarker(
  session: Session,
  place: string,
  marker: Marker,
  fresh: ReadonlyMap<string, string>,
): Promise<void> {
  await session.transaction(async (tx) => {
    for (const [table, from] of fresh)
      await tx.run(`CREATE OR REPLACE TABLE ${hashesOf(table)} AS SELECT kh, rh FROM ${from}`);
    await tx.run(`DELETE FROM ${database}.publication`);
    await tx.run(`INSERT INTO ${database}.publication VALUES ($1, $2)`, [place, JSON.stringify(marker)]);
  });
  await session.run(`CHECKPOINT ${database}`);
}
