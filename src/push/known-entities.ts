import { sqlFile } from '../warehouse/sql.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { EntityType } from './fields.js';

const knownSql = sqlFile('push/known');

/** How many topics and companies there are, as far as is known: what reading their lists costs. */
export async function storedCounts(store: Pick<Warehouse, 'all'>): Promise<Record<EntityType, number>> {
  const [known] = await store.all<{ topic: number | string; company: number | string }>(knownSql);
  return { topic: Number(known?.topic ?? 0), company: Number(known?.company ?? 0) };
}
