import { Priority } from '../api/request.js';
import { type Arrival, arrivalNow, iso } from '../base/clock.js';
import { isAboutOneRequest, OtherEntityError, RejectedError } from '../base/errors.js';
import {
  type ChildOf,
  conversationLists,
  detailOf,
  type List,
  type Resources,
  requestFor,
} from '../contract/resources.js';
import type { DocumentKey } from '../load/batch.js';
import type { Entity } from '../run/known.js';
import { sqlFile } from '../store/sql.js';
import { type Context, maxAgeSeconds } from './context.js';
import { failureOf, GivenUp } from './failures.js';
import { isHistory } from './histories.js';
import type { ScanReport } from './report.js';
import { historyIn, mergedInto, stageAnswer, whereOf } from './staging/answers.js';
import { Staging } from './staging/staging.js';

/**
 * Presence says whether an entity still exists. It is a document like any other, so that a rebuild restores it too.
 */
export interface Presence {
  readonly deletedAt: string | null;
  readonly deletedReason: string | null;
  readonly mergedIntoId: string | null;
  readonly detailUnavailableReason: string | null;
  /** Not listed any more, but answered by id. */
  readonly unlistedSince: string | null;
  /** When it was last answered so. */
  readonly askedAt: string | null;
  /** Merges that do not explain why it left its list: it was still listed after they had been read. */
  readonly outranked: readonly OutrankedMerge[];
}

interface OutrankedMerge {
  readonly into: string;
  readonly mergedAt: string | null;
}

/** The presence of an entity that is listed and answered. */
export const present: Presence = {
  deletedAt: null,
  deletedReason: null,
  mergedIntoId: null,
  detailUnavailableReason: null,
  unlistedSince: null,
  askedAt: null,
  outranked: [],
};

/** An item that is not listed, and since when. */
interface UnlistedItem {
  readonly id: string;
  readonly since?: string | null;
  readonly outranked?: Presence['outranked'];
}

/** What a reading of a list says of the items that are known. */
interface Compared {
  /** Those that it did not return, and were listed before. */
  readonly missing: readonly Entity[];
  /** How many were listed before. */
  readonly stored: number;
  /** Those that were gone or not listed, and are listed again. */
  readonly returned: readonly Entity[];
  /** Those of which it is known that they are not listed, as far as they are to be asked for again. */
  readonly unlisted: readonly UnlistedItem[];
}

const firstHourMs = 3_600_000;

/** Compares a list's items that are known with the ids that it returned. */
function compare(
  { known, resources, config, clock }: Context,
  list: List,
  ids: ReadonlySet<string>,
): Compared {
  const entities = [...known.entities(list.name)].sort((a, b) => (a.entityId < b.entityId ? -1 : 1));
  const listed = entities.filter(
    ({ deletedAt, unlistedSince }) => deletedAt === null && unlistedSince === null,
  );
  const others = entities.filter(
    ({ deletedAt, unlistedSince }) => deletedAt !== null || unlistedSince !== null,
  );
  const maxAgeMs = maxAgeSeconds(detailOf(resources, list), config) * 1_000;
  return {
    missing: listed.filter(({ entityId }) => !ids.has(entityId)),
    stored: listed.length,
    returned: others.filter(({ entityId }) => ids.has(entityId)),
    unlisted: others.flatMap((entity) =>
      ids.has(entity.entityId) ? [] : (unlistedItem(entity, clock.now(), maxAgeMs) ?? []),
    ),
  };
}

/**
 * An item that exists but is not listed any more (an archived or superseded topic, for example) is fetched by id again: in each
 * run of the first hour, since it may only have slipped through between two pages of a list that shifted; then each time that it
 * has been unlisted twice as long; and at the latest when its age comes. Null where it is not time.
 */
function unlistedItem(
  { entityId: id, deletedAt, unlistedSince, askedAt }: Entity,
  now: number,
  maxAgeMs: number,
): UnlistedItem | null {
  if (deletedAt !== null || unlistedSince === null) return null;
  const asked = askedAt ?? unlistedSince;
  const isTime =
    now - unlistedSince < firstHourMs ||
    asked > now ||
    now - asked >= Math.min(maxAgeMs, asked - unlistedSince);
  // A time in the future comes from a clock that was ahead: it is fetched now, and its times start again.
  return isTime ? { id, since: unlistedSince <= now ? iso(unlistedSince) : null } : null;
}

export type Settled = Pick<ScanReport, 'missing' | 'tombstoned' | 'restored' | 'fused' | 'note'>;

export const nothingSettled: Settled = { missing: 0, tombstoned: 0, restored: 0, fused: false, note: null };

/** Whether so much is missing that a broken answer is likelier than so many deletions (settings `sync.deletes`). */
export function tripsFuse(
  count: { missing: number; stored: number; returned: number },
  limits: { maxShare: number; maxRows: number },
): boolean {
  if (count.missing === 0) return false;
  if (count.returned === 0) return true;
  return count.missing > limits.maxRows && count.missing > limits.maxShare * count.stored;
}

/** The ids that one reading of a list returned, and whether the list stayed the same meanwhile. */
export interface ReturnedIds {
  readonly ids: ReadonlySet<string>;
  readonly verified: boolean;
}

/**
 * Tombstones what a list lost, and restores what it returned again. What a verified scan misses is asked for by id: only
 * a 404 makes a tombstone, and an item that is answered exists, but is not listed any more. A 404 proves nothing where
 * listed items are answered 404 as well; then the list is read `again`, since totals can agree by accident, and the item
 * must be missing twice.
 */
export async function settle(
  context: Context,
  list: List,
  returned: ReturnedIds,
  again: () => Promise<ReturnedIds>,
): Promise<Settled> {
  const { presence } = list;
  if (presence === null) return nothingSettled;
  let found = compare(context, list, returned.ids);
  if (found.missing.length > 0) {
    // What goes with them, or is stored of them by now, is in what this run has appended.
    await context.batcher.flush();
    found = compare(context, list, returned.ids);
  }
  const { missing, stored, unlisted } = found;
  const restored = await restore(context, presence, found.returned);
  if (!returned.verified) return { ...nothingSettled, restored };
  const count = { missing: missing.length, stored, returned: returned.ids.size };
  if (!context.acceptDeletes && tripsFuse(count, context.config.sync.deletes)) {
    const note = `${missing.length} of ${stored} stored items are missing: nothing was deleted (--accept-deletes allows it)`;
    return { ...nothingSettled, missing: missing.length, restored, fused: true, note };
  }
  // Answered 404 by id while they were listed, as topics archived in the migration are.
  const unanswered = new Set(
    missing.flatMap(({ entityId, unavailableReason }) => (unavailableReason === null ? [] : entityId)),
  );
  const missed: readonly UnlistedItem[] = missing.map(({ entityId: id }) => ({ id }));
  const asked = await outrankedMerges(context, list, [...missed, ...unlisted]);
  const unproven: NotFound[] = [];
  let tombstoned = 0;
  for (const notFound of await fetchByIds(context, list, presence, asked)) {
    if (notFound.reason !== undefined || unanswered.has(notFound.id)) {
      unproven.push(notFound);
      continue;
    }
    await tombstone(context, list, presence, notFound);
    tombstoned += 1;
  }
  const second = unproven.length > 0 ? await secondReading(context, list, again) : returned;
  for (const notFound of unproven) {
    if (!second.verified || second.ids.has(notFound.id)) continue;
    await tombstone(context, list, presence, notFound);
    tombstoned += 1;
  }
  return { ...nothingSettled, missing: missing.length, tombstoned, restored };
}

/** The list once more. One that cannot be read proves nothing; the items are asked for again in the next run. */
async function secondReading(
  context: Context,
  list: List,
  again: () => Promise<ReturnedIds>,
): Promise<ReturnedIds> {
  try {
    return await again();
  } catch (error) {
    if (!isAboutOneRequest(error)) throw error;
    context.failures.push(failureOf(list.name, null, error));
    return { ids: new Set(), verified: false };
  }
}

const outrankedMergesSql = sqlFile('sync/outranked_merges');

/** The same items, each with the merges that do not explain why it is not listed any more. */
async function outrankedMerges(
  { store, resources, runId }: Context,
  { name, presence }: List,
  items: readonly UnlistedItem[],
): Promise<readonly UnlistedItem[]> {
  const history = historyOf(resources, name);
  if (items.length === 0 || history === undefined) return items;
  const rows = await store.all<{ id: string; merges: string }>(outrankedMergesSql, {
    ids: items.map(({ id }) => id),
    list: name,
    presence,
    type: history.answer.merges.kind.replace('_merges', ''),
    run_id: runId,
  });
  const mergesOf = new Map(rows.map(({ id, merges }) => [id, JSON.parse(merges) as Presence['outranked']]));
  return items.map((item) => ({ ...item, outranked: mergesOf.get(item.id) ?? [] }));
}

function historyOf({ children }: Resources, list: string): ChildOf<'history'> | undefined {
  return children.filter(isHistory).find((child) => child.list.name === list);
}

/**
 * Asks for items by id, several at a time, and returns the 404s in the order of the items. An item that fails otherwise
 * proves nothing: it is named as a failure, and the next run asks for it again.
 */
async function fetchByIds(
  context: Context,
  list: List,
  presence: string,
  items: readonly UnlistedItem[],
): Promise<NotFound[]> {
  const { name } = detailOf(context.resources, list);
  const givenUp = new GivenUp();
  const notFound = new Map<string, NotFound>();
  const entities = items.map((item) => ({ endpoint: name, entityId: item.id, item }));
  const ask = async ({ item }: { item: UnlistedItem }) => {
    context.stop.throwIfAborted();
    try {
      const found = await fetchById(context, list, presence, item);
      if (found !== null) notFound.set(item.id, found);
      return null;
    } catch (error) {
      if (!isAboutOneRequest(error)) throw error;
      context.failures.push(failureOf(name, item.id, error));
      return error.message;
    }
  };
  const work = givenUp.askEach(entities, context.api.concurrency + 2, { ask });
  await work.finally(() => context.failures.push(...givenUp.failures()));
  return items.flatMap(({ id }) => notFound.get(id) ?? []);
}

async function restore(context: Context, presence: string, returned: readonly Entity[]): Promise<number> {
  if (returned.length === 0) return 0;
  const staging = new Staging(arrivalNow(context.clock), context.schemaDrift);
  for (const { entityId: id, unavailableReason } of returned) {
    const document = { ...present, detailUnavailableReason: unavailableReason };
    staging.document(presence, { id, parentId: null }, document);
  }
  await context.batcher.add(staging);
  return returned.length;
}

/** An item that is gone: when that was found, with which reason (`data.reason` of a 404), and into what it was merged. */
interface NotFound {
  readonly id: string;
  readonly arrivedAt: Arrival;
  readonly reason: string | undefined;
  readonly mergedIntoId?: string | null;
  readonly outranked: Presence['outranked'];
}

/**
 * Fetches one item by id and stages the answer; returns the 404 when there is none. An answer about another item may be that about
 * the survivor of a merge: it counts as a 404 when the history of that one names the item. Otherwise nothing of it is stored.
 */
async function fetchById(
  context: Context,
  list: List,
  presence: string,
  { id, since, outranked = [] }: UnlistedItem,
): Promise<NotFound | null> {
  const detail = detailOf(context.resources, list);
  const markUnlisted = (staging: Staging) => {
    const askedAt = staging.fetchedAt.toISOString();
    const unlisted = { ...present, unlistedSince: since ?? askedAt, askedAt, outranked };
    staging.document(presence, { id, parentId: null }, unlisted);
    return context.batcher.add(staging);
  };
  try {
    // Before the other lists: a run that may make few requests ends one before it reads the next.
    const options = { priority: Priority.essential + 2, signal: context.stop };
    const answer = await context.api.call(detail.endpointName, requestFor(detail, id), options);
    const staging = new Staging(answer.arrivedAt, context.schemaDrift);
    stageAnswer(staging, detail, id, answer.body, whereOf(detail, id));
    await markUnlisted(staging);
    return null;
  } catch (error) {
    if (error instanceof OtherEntityError) {
      if (await isMergedInto(context, list, id, error.answered))
        return { id, arrivedAt: arrivalNow(context.clock), reason: undefined, outranked };
      await markUnlisted(new Staging(arrivalNow(context.clock), context.schemaDrift));
    }
    // A 404 without the documented error body comes from something in front of the API, and proves nothing.
    if (!(error instanceof RejectedError) || error.status !== 404 || error.code === undefined) throw error;
    return { id, arrivedAt: arrivalNow(context.clock), reason: error.reason, outranked };
  }
}

/** Whether the history of one item names another as merged into it. Stages that history, which resolveMerges reads. */
async function isMergedInto(
  context: Context,
  list: List,
  id: string,
  survivor: string | null,
): Promise<boolean> {
  const history = historyOf(context.resources, list.name);
  if (survivor === null || !history) return false;
  const where = whereOf(history, survivor);
  const options = { priority: Priority.essential + 2, signal: context.stop };
  try {
    const answer = await context.api.call(history.endpointName, requestFor(history, survivor), options);
    const staging = new Staging(answer.arrivedAt, context.schemaDrift);
    stageAnswer(staging, history, survivor, answer.body, where);
    await context.batcher.add(staging);
    const { whole } = historyIn(history, answer.body, where);
    return mergedInto(whole, history.answer.merges.sources).includes(id);
  } catch (error) {
    if (!isAboutOneRequest(error)) throw error;
    return false;
  }
}

/** Stages that an item is gone, and takes out what goes with it. */
export async function tombstone(
  context: Context,
  list: List,
  presence: string,
  { id, arrivedAt, reason, mergedIntoId = null, outranked }: NotFound,
): Promise<void> {
  const staging = new Staging(arrivedAt, context.schemaDrift);
  const deleted = { deletedAt: arrivedAt.at.toISOString(), deletedReason: reason ?? 'not_found' };
  staging.document(presence, { id, parentId: null }, { ...present, ...deleted, mergedIntoId, outranked });
  staging.remove(await documentsRemovedWith(context, list, id));
  // If it comes back, its children are due as if they had never been fetched.
  for (const child of context.resources.children) {
    if (child.list.name !== list.name) continue;
    staging.coverage.push({
      endpoint: child.name,
      entityId: id,
      fetchedAt: arrivedAt.at,
      answerNo: arrivedAt.no,
      fingerprint: null,
      status: 404,
      error: null,
      reason: 'gone',
    });
  }
  await context.batcher.add(staging);
}

const removedWithSql = sqlFile('sync/removed_with');

function documentsRemovedWith(context: Context, list: List, id: string): Promise<DocumentKey[]> {
  return context.store.all<DocumentKey>(removedWithSql, { ...kindsRemovedWith(context.resources, list), id });
}

const listsOfGoneSql = sqlFile('sync/lists_of_gone');

/**
 * The conversations in the lists of deleted topics, people and companies, as documents of those lists. Call it when all that was
 * added is merged: until more is added, they are the same.
 */
export async function listsOfGone(context: Context): Promise<readonly DocumentKey[]> {
  const { resources, store, batcher } = context;
  if (context.gone?.added !== batcher.added) {
    const lists = conversationLists(resources);
    const kinds = { kinds: lists.map(({ name }) => name), lists: lists.map(({ list }) => list.name) };
    const documents = await store.all<DocumentKey>(listsOfGoneSql, kinds);
    context.gone = { added: batcher.added, documents };
  }
  return context.gone.documents;
}

const lastListsSql = sqlFile('sync/last_lists');

/** The ids of the conversations that lists lose, given as documents of those lists, and that no other stored list has. */
export async function inNoOtherList(
  { resources, store }: Context,
  lost: readonly DocumentKey[],
): Promise<string[]> {
  if (lost.length === 0) return [];
  const rows = await store.all<{ id: string }>(lastListsSql, {
    endpoints: lost.map(({ endpoint }) => endpoint),
    ids: lost.map(({ id }) => id),
    parents: lost.map(({ parentId }) => parentId ?? ''),
    kinds: conversationLists(resources).map(({ name }) => name),
  });
  return rows.map(({ id }) => id);
}

/**
 * Removes the conversations that left their last list, and those in the lists of deleted topics, people and companies. Only at the
 * end of a run that read every list of conversations that is due, and the lists of their parents: until then, a list that has one of
 * them now may be unread, for example that of a survivor or of another company.
 */
export async function removeHeldBack(context: Context): Promise<void> {
  const { resources, failures, heldBack, clock } = context;
  const lists = conversationLists(resources);
  const read = lists.flatMap(({ name, list }) => [name, list.name as string]);
  if (failures.some(({ endpoint }) => read.includes(endpoint))) return;
  const gone = await listsOfGone(context);
  if (gone.length === 0 && heldBack.size === 0) return;
  const arrivedAt = arrivalNow(clock);
  const staging = new Staging(arrivedAt, context.schemaDrift);
  staging.remove(gone);
  for (const { documents, coverage } of heldBack.values()) {
    staging.remove(documents);
    const askedNo = coverage.askedNo ?? coverage.answerNo ?? arrivedAt.no;
    staging.coverage.push({ ...coverage, answerNo: arrivedAt.no, askedNo });
  }
  await context.batcher.add(staging);
}

/**
 * The kinds of documents that are removed with an item of a list: those that belong to it, and those that name it. Conversations
 * wait for `removeHeldBack`: another list may have them.
 */
function kindsRemovedWith({ children, embedded }: Resources, { name: list }: List) {
  const lists = conversationLists({ children });
  const inside = Object.entries(embedded).map(([name, entry]) => ({
    ...entry,
    name,
    removedWithParent: true,
  }));
  const kinds = [...children.filter((child) => !lists.includes(child)), ...inside];
  return {
    belonging: kinds.flatMap((kind) => (kind.parent === list && kind.removedWithParent ? kind.name : [])),
    naming: kinds.flatMap((kind) => (kind.membersOf === list ? kind.name : [])),
  };
}
