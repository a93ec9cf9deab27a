import { resources } from '../../../src/contract/resources.js';
import type { Document } from '../../../src/warehouse/load/batch.js';

/** What the tests of what is due, and of why, have in common. */

export const now = new Date('2026-03-01T00:00:00Z');
const day = 86_400_000;
export const daysAgo = (days: number) => new Date(now.getTime() - days * day);

/** Everything is fetched again after ten days. */
export const children = resources.children.map((child) => ({ ...child, maxAgeDays: 10 }));

/** An item of a list, fetched a day ago. */
export function item(endpoint: string, id: string, body: object = {}): Document {
  return {
    endpoint,
    id,
    parentId: null,
    body: JSON.stringify({ id, ...body }),
    fetchedAt: daysAgo(1),
    answerNo: 1,
  };
}
