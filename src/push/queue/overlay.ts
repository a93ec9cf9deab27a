import type { Warehouse } from '../../warehouse/warehouse.js';
import type { Change } from '../change.js';
import { Journal } from './journal.js';
import { readChanges } from './queue.js';

/**
 * The queue as it stands, oldest first, without holding the warehouse: the published file, and the journal over it. A
 * push that is under way is seen as far as it has come.
 */
export async function readQueue(
  published: Pick<Warehouse, 'all'> | null,
  dataDir: string,
): Promise<Change[]> {
  const shown = published && (await hasChanges(published)) ? await readChanges(published) : [];
  const changes = new Map(shown.map((change) => [change.id, change]));
  for (const change of new Journal(dataDir).read().values()) {
    if (change.revision > (changes.get(change.id)?.revision ?? 0)) changes.set(change.id, change);
  }
  return [...changes.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** A snapshot that an older version of the program published has none yet. */
async function hasChanges(published: Pick<Warehouse, 'all'>): Promise<boolean> {
  const [table] = await published.all(
    "SELECT 1 FROM information_schema.tables WHERE table_schema = 'ops' AND table_name = 'changes'",
  );
  return table !== undefined;
}
