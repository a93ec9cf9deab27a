import { messageOf } from '../base/errors.js';
import { identifier, literal } from '../warehouse/sql.js';
import type { Statements } from '../warehouse/store/session.js';
import { lake, named } from './catalog.js';
import type { OpenLake } from './open.js';
import { publications } from './publications.js';
import { isShared } from './settings.js';

/** What became of the views of the published file. */
export interface ViewChanges {
  readonly created: readonly string[];
  /** Those that the lake cannot have. */
  readonly leftOut: readonly string[];
  readonly changed: boolean;
}

/** The worker's runs are not in the lake; `publications` has when the last sync started. */
const lastSync = /\(SELECT max\(started_at\) FROM ops\.runs WHERE \(command = 'sync'\)\)/;

/**
 * Makes the views of the lake those of the published file, where the catalog has views and the namespace is of one
 * organization alone: they join by ids, which may be equal in two organizations. A view that reads what the lake does not
 * have (the queue of changes, columns that the profile leaves out) is left out.
 *
 * One statement at a time: a view that DuckDB refuses would end a transaction.
 */
export async function publishViews(open: OpenLake): Promise<ViewChanges> {
  const { session, catalog, namespace, parts, snapshot, org } = open;
  const all = snapshot.views.map(({ name }) => name);
  if (!catalog.hasViews || isShared(parts.place)) return { created: [], leftOut: all, changed: false };
  const stored = await session.all<{ name: string; sql: string }>(
    'SELECT view_name AS name, sql FROM duckdb_views() WHERE database_name = $1 AND schema_name = $2',
    [lake, namespace],
  );
  const now = new Map(stored.map(({ name, sql }) => [name, sql]));
  const synced = `(SELECT max(last_sync_at) FROM ${publications.name} WHERE (org_id = ${literal(org)}))`;
  const created: string[] = [];
  let changed = false;
  let rest = snapshot.views.map(({ name, sql }) => ({ name, sql: sql.replace(lastSync, () => synced) }));
  await session.run(`USE ${lake}.${identifier(namespace)}`);
  try {
    // Until none is left that reads only what is there: views read views.
    for (let before = -1; before !== rest.length; ) {
      before = rest.length;
      const failed: typeof rest = [];
      for (const view of rest) {
        const body = /^CREATE VIEW\s+(?:"(?:[^"]|"")*"|\w+)/.exec(view.sql)?.[0] ?? '';
        const create = `CREATE OR REPLACE VIEW ${named(namespace, view.name)}${view.sql.slice(body.length)}`;
        if (now.get(view.name) === view.sql) created.push(view.name);
        else if (await tryRun(session, create)) {
          created.push(view.name);
          changed = true;
        } else failed.push(view);
      }
      rest = failed;
    }
    // Views of ours that no longer have what they read.
    for (const name of all.filter((one) => now.has(one) && !created.includes(one))) {
      await session.run(`DROP VIEW ${named(namespace, name)}`);
      changed = true;
    }
  } finally {
    await session.run('USE memory').catch(() => undefined);
  }
  return { created: created.sort(), leftOut: all.filter((name) => !created.includes(name)), changed };
}

/** Whether a statement ran; false when it names something that is not there. */
async function tryRun(session: Statements, sql: string): Promise<boolean> {
  try {
    await session.run(sql);
    return true;
  } catch (error) {
    if (/^(Catalog|Binder|Not implemented) Error/.test(messageOf(error))) return false;
    throw error;
  }
}
