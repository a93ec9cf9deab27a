import { identifier } from '../warehouse/sql.js';
import type { Statements } from '../warehouse/store/session.js';
import type { OpenLake } from './open.js';

/**
 * Runs `work` in a transaction that changes rows of the lake; `work` names the tables that it writes to.
 *
 * When no answer to the commit arrives, DuckDB takes it for failed and removes the files that it wrote, although the catalog may
 * have committed them: the lake would name files that are gone (seen with DuckDB 1.5.5 in both formats; Iceberg reports it as a
 * conflict, because the request is sent again). So the object store refuses to remove files while the commit runs. Those of
 * a commit that did fail remain, and are removed like other orphan files (docs/lake.md).
 */
export async function writeLake<T>(
  open: OpenLake,
  work: (tx: Statements, written: Set<string>) => Promise<T>,
): Promise<T> {
  const { session, catalog, namespace } = open;
  const secrets: string[] = [];
  try {
    return await session.transaction(async (tx) => {
      const written = new Set<string>();
      const done = await work(tx, written);
      for (const folder of await catalog.dataFolders(namespace, [...written])) {
        const name = `lake_keep_${secrets.length}`;
        secrets.push(name);
        await tx.run(catalog.refuseAccess(name, folder));
      }
      return done;
    });
  } finally {
    for (const name of secrets) {
      // The error of the transaction is the one to report; a secret that stays is replaced by the next transaction.
      await session.run(`DROP SECRET IF EXISTS ${identifier(name)}`).catch(() => undefined);
    }
  }
}
