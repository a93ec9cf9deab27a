import { join } from 'node:path';
import { messageOf } from '../base/errors.js';
import { identifier, literal, sqlDir, sqlFile } from '../warehouse/sql.js';
import { viewsOf } from '../warehouse/views.js';
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

/**
 * Makes the views of the lake those of the published file, where the catalog has views and the namespace is of one
 * organization alone: they join by ids, which may be equal in two organizations. A view that reads what the lake does not
 * have (the queue of changes, columns that the profile leaves out) is left out, and so are users' own.
 *
 * One statement at a time: a view that DuckDB refuses would end a transaction.
 */
export async function publishViews(open: OpenLake): Promise<ViewChanges> {
  const { session, catalog, namespace, parts, snapshot } = open;
  const all = snapshot.views.map(({ name }) => name);
  if (!catalog.hasViews || isShared(parts.place)) return { created: [], leftOut: all, changed: false };
  const stored = await session.all<{ name: string }>(
    'SELECT view_name AS name FROM duckdb_views() WHERE database_name = $1 AND schema_name = $2',
    [lake, namespace],
  );
  const before = new Set(stored.map(({ name }) => name));
  const created: string[] = [];
  await session.run(`USE ${lake}.${identifier(namespace)}`);
  try {
    await session.run(momentMacro());
    for (const sql of viewsOf({ viewsDir: join(sqlDir, 'views'), businessHours: undefined })) {
      const name = /^CREATE OR REPLACE VIEW (\w+) AS$/m.exec(sql)?.[1];
      if (name === undefined) continue;
      const shown = snapshot.views.find((view) => view.name === name);
      if (shown === undefined) continue;
      // The one view that depends on the settings has no other table in it.
      const text = name === 'business_hours' ? shown.sql : asStored(open, sql);
      if (await createView(open, name, text)) created.push(name);
    }
    const gone = all.filter((name) => before.has(name) && !created.includes(name));
    for (const name of gone) await session.run(`DROP VIEW IF EXISTS ${named(namespace, name)}`);
    const changed = gone.length > 0 || created.some((name) => !before.has(name));
    return { created: created.sort(), leftOut: all.filter((name) => !created.includes(name)), changed };
  } finally {
    await session.run('USE memory').catch(() => undefined);
  }
}

/** The macro of the schema raw that views use: the lake has no such schema. */
function momentMacro(): string {
  const text =
    /CREATE OR REPLACE MACRO raw\.moment[\s\S]*?;/.exec(sqlFile('migrations/0001_raw_and_ops'))?.[0] ?? '';
  return text.replace('raw.moment', 'moment');
}

/**
 * The text of a view as DuckLake can store it. DuckLake writes CROSS JOIN as a comma, which binds weaker than the joins
 * behind it: the stored view would be another one.
 */
function asStored({ org }: OpenLake, sql: string): string {
  return sql
    .replace(/--[^\n]*/g, '')
    .replace(/CROSS JOIN (\w+)/g, 'JOIN $1 ON true')
    .replaceAll('raw.moment(', 'moment(')
    .replace(
      /\(SELECT max\(started_at\) FROM ops\.runs WHERE command = 'sync'\)/,
      () => `(SELECT max(last_sync_at) FROM ${publications.name} WHERE org_id = ${literal(org)})`,
    );
}

/** Creates a view with its comment; false when it names something that is not there. */
async function createView({ session, namespace }: OpenLake, name: string, text: string): Promise<boolean> {
  const body = /\bVIEW\s+"?\w+"?\s+AS\s([\s\S]*?);/.exec(text)?.[1];
  const comment = new RegExp(`COMMENT ON VIEW ${name} IS ('(?:[^']|'')*');`).exec(text)?.[1];
  const view = named(namespace, name);
  try {
    await session.run(`CREATE OR REPLACE VIEW ${view} AS ${body}`);
    // As it is stored, which is not the text that was given.
    await session.run(`SELECT * FROM ${view} LIMIT 0`);
    if (comment !== undefined) await session.run(`COMMENT ON VIEW ${view} IS ${comment}`);
    return true;
  } catch (error) {
    if (!/^(Catalog|Binder|Not implemented|Parser) Error/.test(messageOf(error))) throw error;
    await session.run(`DROP VIEW IF EXISTS ${view}`);
    return false;
  }
}
