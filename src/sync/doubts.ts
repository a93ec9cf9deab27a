import { identityOf, mayHaveMore } from '../api/page.js';
import { type Page, pagesOf } from '../api/paging.js';
import { Priority } from '../api/request.js';
import { isAboutOneRequest, messageOf } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { counted } from '../base/units.js';
import { type Child, requestFor } from '../contract/resources.js';
import type { Coverage, DocumentKey, MemberSet } from '../load/batch.js';
import { sqlFile } from '../store/sql.js';
import type { Context, Doubt, OpenDoubt } from './context.js';
import { assessor, inputOf } from './due.js';
import type { Staging } from './staging/staging.js';
import { coverageOf, keyOf, type Task } from './task.js';
import { inNoOtherList } from './tombstones.js';

/** How `ops.coverage.reason` begins for an answer that is asked for again (src/sync/due.ts reads it). */
const again = 'again: ';
const unconfirmed = `${again}unconfirmed`;
/** A list of conversations of which no reading was whole. */
export const unsettled = `${again}unsettled`;
/** Conversations that it lost are to be removed at the end of a run, and were not. */
const heldBack = `${again}held back`;
export const older = `${again}older`;

const memberIdsSql = sqlFile('sync/member_ids');
const missingMessagesSql = sqlFile('sync/missing_messages');

/** Why the set of a child in a staging is not known to be all there is, which takes it out; null where it is. */
async function doubtOfSet(
  context: Context,
  task: Task,
  staging: Staging,
  own: MemberSet | undefined,
  problem: string | null,
): Promise<Doubt | null> {
  const doubt: Doubt | null =
    problem !== null
      ? { kind: 'incomplete', message: `is not complete: ${problem}` }
      : own
        ? await contradictionOf(context, task, own)
        : await doubtOfObject(context, task, staging);
  if (own && doubt) staging.setWhole([own], false);
  return doubt;
}

/** What is wrong with parts of an answer: conversations without messages that are counted, and records that could not be stored. */
export async function doubtOfParts(context: Context, task: Task, staging: Staging): Promise<Doubt | null> {
  const doubt = await doubtOfMessages(context, task, staging);
  const rejected = staging.rejections.length;
  if (doubt || rejected === 0) return doubt;
  return { kind: 'rejected', message: `${counted(rejected, 'record')} rejected` };
}

/**
 * Decides which messages are gone that an answer leaves out of its conversations: all of them where it has as many as its parent
 * counts, or where that count fell by as many. A list that nothing counts may show conversations in part: what it leaves out is
 * gone where no topic counts it, the person whose account wrote it does not either, and no other answer of the run showed it.
 */
async function doubtOfMessages(context: Context, task: Task, staging: Staging): Promise<Doubt | null> {
  const { store } = context;
  const { child, counters, storedCounters } = task;
  const shown = staging.sets.filter(({ endpoint }) => endpoint === 'messages');
  if (shown.length === 0) return null;
  const { messages: named } = staging;
  const now = countIn(counters, child.countsMessages);
  const isWhole = now !== null && named >= now;
  if (isWhole) staging.setWhole(shown, true);
  if (isWhole || canMissNothing(context, task)) return null;
  const missing = await store.all<Missing>(missingMessagesSql, {
    groups: shown.map(({ parentId }) => parentId),
    shown: shown.flatMap(({ ids }) => ids),
    places: shown.flatMap(({ ids, parentId }) => ids.map(() => parentId)),
  });
  if (missing.length === 0) return null;
  const isGone = ({ isGone, personId, parentId }: Missing) =>
    now === null && isGone && !areAccountsDue(context, personId) && !context.seenContent.isDisputed(parentId);
  if (now === null) {
    const gone = missing.filter(isGone);
    staging.remove(gone.map(({ id, parentId }) => ({ endpoint: 'messages', id, parentId })));
  } else {
    const groups = staging.sets.find(({ endpoint }) => endpoint === child.name)?.ids ?? [];
    const [stored] = await store.all<{ messages: number }>(
      `SELECT count(*)::INTEGER AS messages FROM main.messages
        WHERE deleted_at IS NULL AND group_id IN (SELECT unnest($groups::VARCHAR[]))`,
      { groups },
    );
    const then = countIn(storedCounters, child.countsMessages);
    if (isExplained({ now, named }, { now: then, named: stored?.messages ?? 0 })) {
      staging.setWhole(shown, true);
      return null;
    }
  }
  const kept = missing.filter((one) => !isGone(one));
  staging.forgetParts(child.name, new Set(kept.map(({ parentId }) => parentId)));
  if (now !== null) return { kind: 'contradicted', message: namesLess(named, now, child.countsMessages) };
  const unsure = kept.filter((one) => one.isGone).length;
  return unsure === 0
    ? null
    : { kind: 'short', message: `leaves out ${counted(unsure, 'message')} that may be there` };
}

/** A message that an answer leaves out; `personId` is who has its account, where their counter says that it is gone. */
interface Missing {
  readonly id: string;
  readonly parentId: string;
  readonly isGone: boolean;
  readonly personId: string | null;
}

/** Whether a person's accounts are due: until they are read, the person's counter may be lower only because an account moved. */
function areAccountsDue(context: Context, personId: string | null): boolean {
  const { resources, known, clock } = context;
  const child = resources.children.find(({ name }) => name === 'person_identities');
  const person = known.entity('people', personId ?? '');
  if (!child || !person) return false;
  return assessor(inputOf(context, []), new Date(clock.now()))(child, person).reason !== null;
}

/** Whether nothing is stored that an answer could leave out: in a first pull, what was never answered before has brought nothing. */
function canMissNothing({ isPulled }: Context, { reason }: Task): boolean {
  return reason === 'never' && !isPulled;
}

/** Whether an answer leaves out no more of what is counted than it did when it was believed last. */
function isExplained(
  { now, named }: { readonly now: number; readonly named: number },
  then: { readonly now: number | null; readonly named: number },
): boolean {
  return then.now !== null && now - named <= then.now - then.named;
}

function namesLess(named: number, now: number | null, field: string | undefined): string {
  return `names ${named} of the ${now} that the list counts (${field?.replace('$.', '')})`;
}

/**
 * Why the list inside of an object in a staging is not known to be all there is, which takes the object out: it is empty, something
 * is stored, and the parent counts something. Null where it is known.
 */
async function doubtOfObject({ store }: Context, task: Task, staging: Staging): Promise<Doubt | null> {
  const { child, entityId, counters } = task;
  const { name, membersIn } = child;
  const at = staging.documents.findIndex(({ endpoint, id }) => endpoint === name && id === entityId);
  if (membersIn === undefined || at < 0 || countedBy(task, counters) !== 1) return null;
  const answered = (JSON.parse(staging.documents[at]?.body ?? '') as Record<string, unknown>)[membersIn];
  if (Array.isArray(answered) && answered.length > 0) return null;
  const [stored] = await store.all(
    'SELECT 1 FROM raw.documents WHERE endpoint = $name AND id = $id AND json_array_length(body, $field) > 0',
    { name, id: entityId, field: `$.${membersIn}` },
  );
  if (!stored) return null;
  staging.documents.splice(at, 1);
  return { kind: 'contradicted', message: namesNothing(child) };
}

/** What is wrong with an answer without members, where the list item has a number of what they do. */
function namesNothing({ existsWith }: Child): string {
  return `names nothing, although the list has a ${existsWith?.replace('$.', '')}`;
}

async function contradictionOf(context: Context, task: Task, set: MemberSet): Promise<Doubt | null> {
  const { child, counters, storedCounters } = task;
  const [now, then] = [countedBy(task, counters), countedBy(task, storedCounters)];
  const named = new Set(set.ids);
  // Most answers name as much as their parent counts, and nothing needs to be looked up.
  if (now === null ? named.size > 0 : named.size >= now) return null;
  const stored = await storedMembers(context, set);
  // As many as it left out when it was believed last. Of what it named then, some may have been removed since.
  const namedThen = namedBy(storedCounters) ?? stored.length;
  if (now !== null && isExplained({ now, named: named.size }, { now: then, named: namedThen })) return null;
  const message =
    named.size === 0 && child.existsWith !== undefined
      ? namesNothing(child)
      : namesLess(named.size, now, child.counts ?? child.existsWith);
  if (stored.some((id) => !named.has(id))) {
    if (now !== null) return { kind: 'contradicted', message };
    return isSecondReading(task) ? null : { kind: 'emptied', message: 'names nothing any more' };
  }
  return named.size === 0 && child.counts !== undefined ? { kind: 'short', message } : null;
}

/** The members of a set that are stored. */
export async function storedMembers(
  { store }: Context,
  { endpoint, parentId }: Pick<MemberSet, 'endpoint' | 'parentId'>,
): Promise<string[]> {
  const rows = await store.all<{ id: string }>(memberIdsSql, { child: endpoint, parent_id: parentId });
  return rows.map(({ id }) => id);
}

/** How many members there are at least by the list item; null where nothing counts them. */
function countedBy({ child: { counts, existsWith } }: Task, counters: string | null): number | null {
  const number = countIn(counters, counts ?? existsWith);
  return number !== null && counts === undefined ? Math.min(1, number) : number;
}

/** A number among counters; null where there is none. */
function countIn(counters: string | null, path: string | undefined): number | null {
  if (path === undefined) return null;
  // Of a list, its length is stored behind a hash (sql/load/entities.sql).
  const number = Number(valuesIn(counters)[path]?.split(' ').at(-1) ?? Number.NaN);
  return Number.isSafeInteger(number) && number >= 0 ? number : null;
}

function valuesIn(counters: string | null): Readonly<Record<string, string | null>> {
  return JSON.parse(counters ?? '{}') as Record<string, string | null>;
}

/** Beside the counters of the parent, how many members the answer named that they were stored with. */
const namedField = 'named';

function namedBy(counters: string | null): number | null {
  const { [namedField]: named } = valuesIn(counters);
  return named === undefined ? null : Number(named);
}

/** Counters with how many members the answer named. */
export function withNamed(counters: string, named: number): string {
  return JSON.stringify({ ...valuesIn(counters), [namedField]: String(named) });
}

/**
 * The state of a child whose last page is in this staging, after taking out of it what the answer does not prove. `problem` says why
 * the answer is not whole, `inParts` what was wrong with earlier pages, and `hasNews` whether it brought a conversation that is
 * not stored as it is; `state` are further values.
 */
export async function coverageInDoubt(
  context: Context,
  task: Task,
  staging: Staging,
  {
    problem = null,
    inParts = null,
    hasNews = true,
    ...state
  }: { problem?: string | null; inParts?: Doubt | null; hasNews?: boolean } & Partial<Coverage> = {},
): Promise<Coverage> {
  const { child, entityId, lastReason, storedCounters } = task;
  const coverage = { ...coverageOf(task, staging.arrivedAt, 200), ...state };
  const own = staging.sets.find(({ endpoint, parentId }) => endpoint === child.name && parentId === entityId);
  context.heldBack.delete(keyOf(task));
  const ofSet = await doubtOfSet(context, task, staging, own, problem);
  const ofParts = await doubtOfParts(context, task, staging);
  const [doubt] = [ofSet, inParts, ofParts].filter((one) => one !== null).sort(byWeight);
  const known = `${again}${doubt?.kind}`;
  if (!doubt || doubt.kind === 'rejected' || doubt.kind === 'short') {
    // A server that lags behind its own list: the next run asks once more.
    const reason = !hasNews && hasMoreMessages(task) ? `${again}short` : coverage.reason;
    const named = own &&
      coverage.counters && { counters: withNamed(coverage.counters, new Set(own.ids).size) };
    const settled = doubt ? { ...coverage, reason: known } : { ...coverage, ...named, reason };
    const documents = own && !ofSet ? await lastLost(context, task, own) : [];
    if (!own || documents.length === 0) return settled;
    // Until the run has read every list: another one may have them now.
    staging.keepMembers(
      own,
      documents.map(({ id }) => id),
    );
    context.heldBack.set(keyOf(task), { documents, coverage: settled });
    return { ...coverage, counters: storedCounters, reason: heldBack };
  }
  const stage = lastReason === known ? 'known' : isSecondReading(task) ? 'new' : 'unconfirmed';
  context.doubts.set(keyOf(task), { ...doubt, child, entityId, stage });
  // The counters stay those of the last answer that was believed.
  const kept = { ...coverage, counters: storedCounters };
  return stage === 'unconfirmed'
    ? { ...kept, reason: unconfirmed }
    : { ...kept, reason: known, error: `${child.name}: the answer ${doubt.message}` };
}

/**
 * The conversations that a list lost and no other stored list has, as documents of that list. Another may have lost them in this run,
 * and is stored as it was until the next merge.
 */
async function lastLost(
  context: Context,
  task: Task,
  { endpoint, parentId, ids }: MemberSet,
): Promise<DocumentKey[]> {
  if (task.child.answer.form !== 'conversations' || canMissNothing(context, task)) return [];
  const now = new Set(ids);
  const stored = await storedMembers(context, { endpoint, parentId });
  const lost = new Set(stored.filter((id) => !now.has(id)));
  const documents = [...lost].map((id) => ({ endpoint, id, parentId }));
  context.lost.set(keyOf(task), documents);
  const ofThese = [...context.lost.values()].flatMap((all) => all.filter(({ id }) => lost.has(id)));
  const last = new Set(await inNoOtherList(context, ofThese));
  return documents.filter(({ id }) => last.has(id));
}

/** Whether the list counts more messages than when the child was fetched last. */
function hasMoreMessages({ counters, storedCounters }: Task): boolean {
  const [now, then] = [counters, storedCounters].map(
    (text) => valuesIn(text)['$.messageCount'] ?? Number.NaN,
  );
  return Number(now) > Number(then);
}

function byWeight(a: Doubt, b: Doubt): number {
  const kinds: Doubt['kind'][] = ['incomplete', 'contradicted', 'emptied', 'rejected', 'short'];
  return kinds.indexOf(a.kind) - kinds.indexOf(b.kind);
}

/** Whether what was answered last was in doubt, and not only in part unusable. */
function isSecondReading({ lastReason }: Task): boolean {
  return [unconfirmed, `${again}incomplete`, `${again}contradicted`].includes(lastReason ?? '');
}

/**
 * The items that follow the first answer of a list that the document calls whole, where that says that there are more, and
 * why they are not all; null when they are.
 */
export async function furtherItems(
  context: Context,
  { child, entityId }: Task,
  first: Awaited<ReturnType<Context['api']['call']>>,
  items: readonly unknown[],
): Promise<{ more: unknown[]; problem: string | null }> {
  const more: unknown[] = [];
  if (!mayHaveMore(first.body, items, first.hasNext)) return { more, problem: null };
  const read = new Set(items.map(identityOf));
  const unparsed = child.answer.form === 'conversations' ? 'messages' : undefined;
  const options = { priority: Priority.detail, signal: context.stop, unparsed, first };
  let [claimed, last]: [number, Page | undefined] = [0, undefined];
  try {
    for await (const page of pagesOf(context.api, child.endpointName, requestFor(child, entityId), options)) {
      for (const item of page.items) {
        const identity = identityOf(item);
        if (!read.has(identity)) more.push(item);
        read.add(identity);
      }
      claimed = Math.max(claimed, page.claimed);
      last = page;
    }
  } catch (error) {
    if (!isAboutOneRequest(error)) throw error;
    return { more, problem: `${read.size} were read, and then: ${messageOf(error)}` };
  }
  if (claimed > read.size) return { more, problem: `it has ${claimed}, of which ${read.size} could be read` };
  return { more, problem: last?.hasMore ? `more follow after the ${read.size} that could be read` : null };
}

const hint =
  'Nothing was removed. It is asked for again with the next sync, and then less and less often, until the two agree.';
/** This many failures of one kind are named one by one. */
const mostNamed = 10;

/** Says what is in doubt at the end of a run: what is new as failures, what was said before in one note. */
export function reportDoubts({ doubts, failures, notes }: Context): void {
  const all = [...doubts.values()];
  const fresh = groupBy(
    all.filter(({ stage }) => stage === 'new'),
    ({ child, kind }) => `${child.name} ${kind}`,
  );
  for (const ofOne of fresh.values()) {
    const [first] = ofOne as [OpenDoubt];
    const endpoint = first.child.name;
    if (ofOne.length <= mostNamed)
      for (const { entityId, message } of ofOne)
        failures.push({ endpoint, entityId, message: `the answer ${message}`, hint });
    else {
      const message = `${ofOne.length} answers are in doubt; the first (${first.entityId}) ${first.message}`;
      failures.push({ endpoint, entityId: null, message, hint });
    }
  }
  const known = all.filter(({ stage }) => stage === 'known').length;
  if (known > 0)
    notes.push(
      `${counted(known, 'answer')} in doubt, as before; nothing was removed (ops.coverage has each error)`,
    );
}
