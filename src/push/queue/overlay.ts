import { literal } from '../../warehouse/sql.js';
import type { Warehouse } from '../../warehouse/warehouse.js';
import type { Change } from '../change.js';
import { Journal } from './journal.js';
import { oldestFirst, readChanges } from './queue.js';

/**
 * The queue as it stands, oldest first, without holding the warehouse: the published file, and the journal over it. A
 * push that is under way is seen as far as it has come.
 */
export async function readQueue(
  published: Pick<Warehouse, 'all'> | null,
  dataDir: string,
): Promise<Change[]> {
  const hasQueue = published && (await hasTable(published, 'changes'));
  const changes = hasQueue ? await readChanges(published) : new Map<string, Change>();
  new Journal(dataDir).playOver(changes);
  return oldestFirst(changes);
}

/** Whether schema ops has a table: a snapshot that an older version of the program published may not. */
export async function hasTable(published: Pick<Warehouse, 'all'>, name: string): Promise<boolean> {
  const [table] = await published.all(
    `SELECT 1 FROM information_schema.tables WHERE table_schema = 'ops' AND table_name = ${literal(name)}`,
  );
  return table !== undefined;
}
