import { type Child, resources } from '../../../src/contract/resources.js';
import type { CoverageRow, Document, EntityRow } from '../../../src/load/batch.js';
import { fieldsOf, storedCounters } from '../../../src/load/known.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { Known } from '../../../src/run/known.js';
import { type DueSettings, readMeasured } from '../../../src/sync/ages.js';
import { type DueInput, type DueSnapshot, due } from '../../../src/sync/due.js';
import { storedActivity } from '../../../src/sync/explained.js';
import { keyOf } from '../../../src/sync/task.js';
import { type ExplainedChild, why } from '../../../src/sync/why.js';

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

/** What is due by what a warehouse has. */
export async function dueIn(
  warehouse: Pick<Warehouse, 'readKnown' | 'all'>,
  asked: readonly Child[],
  settings: DueSettings,
  at: Date,
  options: Pick<DueInput, 'companyGroupsCome' | 'runId'> = {},
): Promise<DueSnapshot> {
  return due(await inputFrom(warehouse, asked, settings, options), at);
}

export async function inputFrom(
  warehouse: Pick<Warehouse, 'readKnown' | 'all'>,
  asked: readonly Child[],
  settings: DueSettings,
  options: Pick<DueInput, 'companyGroupsCome' | 'runId'> = {},
): Promise<DueInput> {
  const known = new Known(resources, await warehouse.readKnown());
  const measured = await readMeasured(warehouse);
  return { known, resources, children: asked, settings, measured, ...options };
}

/** What explain says of children of one entity. */
export async function whyIn(
  warehouse: Pick<Warehouse, 'readKnown' | 'all'>,
  asked: readonly Child[],
  entityId: string,
  settings: DueSettings,
  at: Date,
): Promise<ExplainedChild[]> {
  const counters = await storedCounters(
    warehouse,
    asked.map((child) => keyOf({ child, entityId })),
  );
  const lists = asked.map((child) => ({ child, entityId }));
  const input = await inputFrom(warehouse, asked, settings, { companyGroupsCome: true });
  return why(input, at, entityId, counters, await storedActivity(warehouse, lists));
}

/** A row of ops.entities: an item of a list with these fields. */
export function entity(
  list: string,
  entityId: string,
  fields: Readonly<Record<string, string>> = {},
  more: Partial<EntityRow> = {},
): EntityRow {
  const values = fieldsOf(resources, list).map((path) => fields[path] ?? '');
  return {
    list,
    entityId,
    fields: values.join('\t'),
    isWhole: false,
    companyId: null,
    companyNo: null,
    isCompanyKnown: false,
    deletedAt: null,
    deletedReason: null,
    mergedIntoId: null,
    unavailableReason: null,
    unlistedSince: null,
    askedAt: null,
    itemHash: null,
    ...more,
  };
}

/** A row of ops.coverage: a good answer of a day ago. */
export function answered(endpoint: string, entityId: string, more: Partial<CoverageRow> = {}): CoverageRow {
  return {
    endpoint,
    entityId,
    fetchedAt: daysAgo(1).getTime(),
    answerNo: 10,
    askedNo: 9,
    touched: null,
    fingerprint: '',
    status: 200,
    reason: null,
    error: null,
    attempts: 0,
    runId: 'earlier',
    isCounted: true,
    named: null,
    ...more,
  };
}

/** What is known after these children of all items were fetched as the items are. */
export function fetchedAsTheyAre(
  entities: readonly EntityRow[],
  asked: readonly Child[],
  more: (entityId: string) => Partial<CoverageRow> = () => ({}),
): CoverageRow[] {
  const known = new Known(resources, { entities, coverage: [] });
  const settings: DueSettings = { sync: { recheck: 1, personGroups: 'all' } };
  return due({ known, resources, children: asked, settings }, now).tasks.map(
    ({ child, entityId, fingerprint }) => answered(child.name, entityId, { fingerprint, ...more(entityId) }),
  );
}
