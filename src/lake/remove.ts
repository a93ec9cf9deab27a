import { identifier } from '../store/sql.js';
import { lake, named } from './catalog.js';
import { namesOfAll } from './contents.js';
import { type LakeAbout, type LakeParts, withLake } from './open.js';
import { lastPublication, publications } from './publications.js';

export interface LakeDropped extends LakeAbout {
  readonly tables: readonly string[];
}

/**
 * `lake drop`: removes the tables that signalhouse made, and the namespace where nothing else is in it. Raises LakeError when the
 * namespace belongs to another organization.
 */
export async function dropFromLake(parts: LakeParts): Promise<LakeDropped> {
  return withLake(parts, async (open) => {
    const { session, namespace, organization, rest } = open;
    await lastPublication(open, session, { newer: true });
    const { tables: own, views } = namesOfAll();
    const existing = (await rest.tables(namespace)) ?? [];
    // The table that says whose namespace this is comes last.
    const tables = [...views, ...own, publications.name].filter((name) => existing.includes(name));
    for (const table of tables) await session.run(`DROP TABLE ${named(namespace, table)}`);
    const left = await rest.tables(namespace);
    if (left !== null && left.length === 0) {
      // A catalog may refuse while it still holds something else.
      await session.run(`DROP SCHEMA IF EXISTS ${lake}.${identifier(namespace)}`).catch(() => undefined);
    }
    return { namespace, organization, tables };
  });
}
