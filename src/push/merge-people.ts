import { randomUUID } from 'node:crypto';
import { Priority } from '../api/client.js';
import { iso, timeId } from '../base/clock.js';
import { folded } from '../base/closest.js';
import { shellWord } from '../base/command-line.js';
import { ContractError, isAboutOneRequest, messageOf, RejectedError, UsageError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import type { Snapshot } from '../warehouse/read/query.js';
import { sqlFile } from '../warehouse/sql.js';
import { idText } from './answer.js';
import type { PushContext } from './context.js';
import { pausesMs } from './deliver.js';
import { isKeyRemembered } from './doubt.js';
import type { MergeJournal, PeopleMerge } from './merge-journal.js';
import { named } from './stored.js';

/**
 * `POST /people/merge`, for one pair of people a call. It cannot be undone. So both are compared with what the API has right
 * before, the key is on the disk before the request, and what became of a request without an answer is read, never assumed.
 */

const peopleSql = sqlFile('push/people_to_merge');
const reasonsSql = sqlFile('push/duplicate_people');

/** A person as a sync saw them last. */
export interface KnownPerson {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly companyId: string | null;
  readonly company: string | null;
  /** How many accounts the person has, and which. */
  readonly accounts: number | null;
  readonly accountNames: readonly string[];
  readonly messages: number | null;
  readonly conversations: number | null;
  readonly lastSeenAt: string | null;
  readonly syncedAt: string | null;
  readonly isDeleted: boolean;
  readonly mergedIntoId: string | null;
  readonly role: 'customer' | 'staff' | 'bot';
}

export interface Pair {
  /** Who is merged away, and who stays. */
  readonly source: KnownPerson;
  readonly target: KnownPerson;
  /** As in `probable_duplicates`; null where nothing says that they are the same. */
  readonly score: number | null;
  readonly reasons: readonly string[];
}

/** The two people in a published file. Throws UsageError when they are one, or one is not in it. */
export async function readPair(snapshot: Snapshot, source: string, target: string): Promise<Pair> {
  if (source === target) {
    const problem = `is the same person: ${target}`;
    throw new UsageError('Two people are needed.', [{ setting: '--into', problem }]);
  }
  const rows = await snapshot.all<KnownPerson & { readonly is_known: boolean }>(peopleSql, {
    source,
    target,
  });
  const problems = rows
    .filter((row) => !row.is_known)
    .map(({ id }) => ({ setting: id === source ? 'source' : '--into', problem: `there is no person ${id}` }));
  if (problems.length > 0)
    throw new UsageError('Only people in the published file can be merged.', problems, {
      hint: 'The ids are in people.id, and for people who are probably the same in probable_duplicates. Run signalhouse sync for people who are new.',
    });
  const [one, other] = rows.map(({ is_known: _, ...person }) => person) as [KnownPerson, KnownPerson];
  const [why] = await snapshot.all<{ score: number; reasons: string[] }>(reasonsSql, { source, target });
  return { source: one, target: other, score: why?.score ?? null, reasons: why?.reasons ?? [] };
}

/** What the API says of a person. `sources`: who was merged into them, as far as their history says. */
export type RemotePerson =
  | { readonly state: 'there'; readonly values: RemoteValues; readonly sources: readonly string[] }
  | { readonly state: 'merged'; readonly into: string; readonly sources: readonly string[] }
  | { readonly state: 'gone'; readonly sources: readonly string[] };

type RemoteValues = Partial<Pick<KnownPerson, 'name' | 'email' | 'companyId' | 'accounts'>>;

/** Why the two must not be merged, a sentence each; none when they may be. */
export function problemsOf({ source, target }: Pair, remote: RemotePair): string[] {
  const problems = [...problemsOfOne(source, remote.source), ...problemsOfOne(target, remote.target)];
  if (source.role !== target.role)
    problems.push(
      `${nameOf(source)} is ${roles[source.role]} and ${nameOf(target)} ${roles[target.role]}: their messages would count as those of one`,
    );
  return problems;
}

const roles = { customer: 'a customer', staff: 'one of our own staff', bot: 'a bot' } as const;

function problemsOfOne(known: KnownPerson, now: RemotePerson): string[] {
  const who = nameOf(known);
  if (now.state === 'merged') return [`${who} was merged into ${now.into} already`];
  if (now.state === 'gone') return [`${who} is gone: the API answers 404`];
  if (known.mergedIntoId !== null) return [`${who} was merged into ${known.mergedIntoId} already`];
  if (known.isDeleted) return [`${who} was deleted when the published file was made, and is there again`];
  return compared.flatMap(([field, label]) => {
    const [was, is] = [known[field] ?? null, now.values[field]];
    if (is === undefined || is === was) return [];
    return [
      `${who} has changed since the published file: ${label} was ${shown(was)} and is ${shown(is)}. Run signalhouse sync, and look at both again`,
    ];
  });
}

/** What says who somebody is. Counts of messages move with every message, and say nothing of it. */
const compared = [
  ['name', 'the name'],
  ['email', 'the e-mail address'],
  ['companyId', 'the company'],
  ['accounts', 'the number of accounts'],
] as const;

function shown(value: string | number | null): string {
  return value === null ? 'empty' : typeof value === 'number' ? String(value) : `"${value}"`;
}

function nameOf({ id, name }: Pick<KnownPerson, 'id' | 'name'>): string {
  return named(id, name);
}

/** Whether what somebody typed confirms who stays: the id, or the name where that tells the two apart. */
export function isConfirmation(typed: string, { source, target }: Pick<Pair, 'source' | 'target'>): boolean {
  const text = typed.trim();
  if (text === target.id) return true;
  return folded(text) !== '' && folded(text) === folded(target.name ?? '') && !areNamedAlike(source, target);
}

/** Whether the name does not tell the two apart. */
export function areNamedAlike(source: Pick<KnownPerson, 'name'>, target: Pick<KnownPerson, 'name'>): boolean {
  return folded(source.name ?? '') === folded(target.name ?? '');
}

export interface MergeRequest {
  readonly requestedBy: string | null;
  readonly requestedReason: string | null;
  readonly dryRun: boolean;
}

export interface MergeReport extends Pair {
  /**
   * `already_merged`: nothing was sent. `refused`: it must not be done, and `problems` says why. `failed`: the API did not do
   * it. `in_doubt`: it was sent, and what became of it is not known yet; the same command finds out.
   */
  readonly outcome: 'merged' | 'already_merged' | 'declined' | 'dry_run' | 'refused' | 'failed' | 'in_doubt';
  /** The record of it (ops.audit.id); null when nothing was ever sent. */
  readonly id: string | null;
  readonly problems: readonly string[];
  readonly error: string | null;
  readonly exitCode: 0 | 3;
}

export interface MergeContext extends Pick<PushContext, 'api' | 'clock' | 'stop'> {
  readonly journal: MergeJournal;
}

/**
 * Merges one pair, after `confirm`, which sees what would be done and whether it was sent before. Without `confirm` it was
 * confirmed before. The API is asked first, also about merges that an earlier command left in doubt. Throws when the API or the
 * key fails as a whole: what was sent until then is found out by the next call.
 */
export async function mergePeople(
  context: MergeContext,
  pair: Pair,
  request: MergeRequest,
  confirm?: (isAgain: boolean) => Promise<boolean>,
): Promise<MergeReport> {
  const { journal } = context;
  const { source, target } = pair;
  const report = (
    outcome: MergeReport['outcome'],
    more: Partial<Pick<MergeReport, 'id' | 'problems' | 'error'>> = {},
  ): MergeReport => {
    const isDone = ['merged', 'already_merged', 'dry_run'].includes(outcome) && !more.problems?.length;
    return { ...pair, outcome, id: null, problems: [], error: null, ...more, exitCode: isDone ? 0 : 3 };
  };
  const problems = (await settleOthers(context, pair)).map(
    ({ sourceId, targetId }) =>
      `a merge of ${sourceId} into ${targetId} was sent and got no answer yet: run signalhouse changes merge-people ${shellWord(sourceId)} --into ${shellWord(targetId)} first`,
  );
  const remote = await readBoth(context, pair);
  const before = journal.all().find((one) => isOf(one, pair) && one.status === 'sending');
  const known = before && settleDoubt(context, before, remote);
  if (isMerged(pair, remote)) return report('already_merged', { id: known?.id ?? null });
  problems.push(...problemsOf(pair, remote));
  if (request.dryRun) return report('dry_run', { problems });
  if (problems.length > 0) return report('refused', { problems, id: known?.id ?? null });
  const own = known?.status === 'sending' ? known : undefined;
  if (confirm) {
    if (!(await confirm(own !== undefined))) return report('declined');
    // Somebody may have taken an hour to answer.
    const since = problemsOf(pair, await readBoth(context, pair));
    if (since.length > 0) return report('refused', { problems: since });
  }
  const merge =
    own ??
    journal.save({
      ...{ id: timeId(new Date(context.clock.now())), sourceId: source.id, targetId: target.id },
      ...{ idempotencyKey: randomUUID(), status: 'sending' },
      ...{ requestedBy: request.requestedBy, requestedReason: request.requestedReason },
      ...{ firstSentAt: iso(context.clock.now()), settledAt: null, error: null },
    });
  const { id, status, error } = await send(context, merge, pair);
  return report(status === 'sending' ? 'in_doubt' : status, { id, error });
}

/** Sends a merge whose key is on the disk, and finds out what became of it. */
async function send(context: MergeContext, merge: PeopleMerge, pair: Pair): Promise<PeopleMerge> {
  const { api, clock, stop, journal } = context;
  const body = { sourcePersonIds: [merge.sourceId], targetPersonId: merge.targetId };
  const failed = (error: string) => settle(context, merge, 'failed', error);
  for (let tries = 0; ; tries += 1) {
    let failure: unknown = null;
    let merged: unknown;
    try {
      const request = { body, idempotencyKey: merge.idempotencyKey };
      const answer = await api.call('merge_people', request, {
        ...{ priority: Priority.push, signal: stop, retryInDoubt: false },
      });
      merged = isObject(answer.body) ? answer.body.mergedCount : undefined;
    } catch (error) {
      if (!isAboutOneRequest(error)) throw error;
      failure = error;
    }
    const number = typeof merged === 'number' ? `${merged} people` : 'something that is not documented';
    const said = failure === null ? `The API answered that it merged ${number}` : messageOf(failure);
    let remote: Awaited<ReturnType<typeof readBoth>>;
    try {
      remote = await readBoth(context, pair);
    } catch (error) {
      if (!isAboutOneRequest(error)) throw error;
      const text = `${said}, and what the API has could not be read: ${messageOf(error)}`;
      return journal.save({ ...merge, error: text });
    }
    // The documented answer counts, also where the source is still shown for a while.
    if (isMerged(pair, remote) || (typeof merged === 'number' && merged > 0))
      return settle(context, merge, 'merged');
    if (remote.source.state !== 'there')
      return failed(`${said}; ${problemsOfOne(pair.source, remote.source).join('')}`);
    const refusal = failure instanceof RejectedError ? failure.status : null;
    if ((refusal !== null && refusal !== 409) || merged === 0) return failed(said);
    const pause = pausesMs[tries];
    // After a 409 an earlier request under this key may still be running. Under its key it is done at most once.
    if (failure !== null && pause !== undefined) {
      await clock.sleep(Math.min(pause, api.retry.maxMs), stop);
      continue;
    }
    return journal.save({ ...merge, error: said });
  }
}

function settle(
  { journal, clock }: MergeContext,
  merge: PeopleMerge,
  status: 'merged' | 'failed',
  error: string | null = null,
): PeopleMerge {
  return journal.save({ ...merge, status, error, settledAt: iso(clock.now()) });
}

/** Settles merges in doubt that share a person with this pair; returns those that may still be done. */
async function settleOthers(context: MergeContext, pair: Pair): Promise<PeopleMerge[]> {
  const ids = [pair.source.id, pair.target.id];
  const left: PeopleMerge[] = [];
  for (const merge of context.journal.all()) {
    const { sourceId, targetId } = merge;
    if (merge.status !== 'sending' || isOf(merge, pair)) continue;
    if (!ids.includes(sourceId) && !ids.includes(targetId)) continue;
    const remote = await readBoth(context, pairOf(merge));
    if (settleDoubt(context, merge, remote).status === 'sending') left.push(merge);
  }
  return left;
}

/** What became of a merge that got no answer, by what the API shows; it stays `sending` while it may still be done. */
function settleDoubt(context: MergeContext, merge: PeopleMerge, remote: RemotePair): PeopleMerge {
  const failed = (why: string) =>
    settle(context, merge, 'failed', `It was sent and got no answer, and ${why}`);
  if (isMerged(pairOf(merge), remote)) return settle(context, merge, 'merged');
  if (remote.source.state !== 'there') return failed(`${merge.sourceId} is gone`);
  const firstSentAt = Date.parse(merge.firstSentAt);
  return isKeyRemembered(context, { firstSentAt, again: true })
    ? merge
    : failed('the API shows that it was not done');
}

function pairOf({ sourceId, targetId }: PeopleMerge): PairIds {
  return { source: { id: sourceId }, target: { id: targetId } };
}

interface PairIds {
  readonly source: { readonly id: string };
  readonly target: { readonly id: string };
}

function isOf({ sourceId, targetId }: PeopleMerge, { source, target }: PairIds): boolean {
  return sourceId === source.id && targetId === target.id;
}

interface RemotePair {
  readonly source: RemotePerson;
  readonly target: RemotePerson;
}

/** Whether the API shows that the source was merged into the target: in the history of either side, or as its answer. */
export function isMerged({ source, target }: PairIds, remote: RemotePair): boolean {
  return (
    remote.target.sources.includes(source.id) ||
    (remote.source.state === 'merged' && remote.source.into === target.id)
  );
}

async function readBoth(context: MergeContext, { source, target }: PairIds): Promise<RemotePair> {
  return {
    source: await readPerson(context, source.id),
    target: await readPerson(context, target.id),
  };
}

/** What the API has of a person, with what their history says of merges: a service may go on answering who was merged. */
async function readPerson(context: MergeContext, id: string): Promise<RemotePerson> {
  const body = await readOrNull(context, 'person', id);
  const answered = isObject(body) ? idText(body.id) : undefined;
  if (body !== null && (!isObject(body) || answered === undefined)) {
    const where = { endpoint: 'person', method: 'GET', path: `/people/${id}` };
    throw new ContractError(`person: GET ${where.path} returned something that is not a person`, where);
  }
  if (answered !== undefined && answered !== id) return { state: 'merged', into: answered, sources: [] };
  const { into, sources } = await readMerges(context, id);
  if (into !== null) return { state: 'merged', into, sources };
  return isObject(body) ? { state: 'there', values: valuesOf(body), sources } : { state: 'gone', sources };
}

/** Null for a 404. */
async function readOrNull({ api, stop }: MergeContext, name: string, personId: string): Promise<unknown> {
  try {
    const { body } = await api.call(
      name,
      { params: { personId } },
      { priority: Priority.push, signal: stop },
    );
    return body;
  } catch (error) {
    if (error instanceof RejectedError && error.status === 404) return null;
    throw error;
  }
}

async function readMerges(
  context: MergeContext,
  id: string,
): Promise<{ readonly into: string | null; readonly sources: readonly string[] }> {
  // The document allows digits only here; others have no history.
  const body = /^\d+$/.test(id) ? await readOrNull(context, 'person_history', id) : null;
  if (!isObject(body)) return { into: null, sources: [] };
  const { mergedInto, merges } = body;
  const into =
    isObject(mergedInto) && isObject(mergedInto.targetPerson) ? idText(mergedInto.targetPerson.id) : null;
  const sources = objects(merges).flatMap(({ sourcePersons }) =>
    objects(sourcePersons).flatMap((one) => idText(one.id) ?? []),
  );
  return { into: into ?? null, sources };
}

function objects(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The values that an answer has; a field that it leaves out says nothing. */
function valuesOf(body: Readonly<Record<string, unknown>>): RemoteValues {
  const text = (value: unknown) => (value === undefined ? undefined : (idText(value) ?? null));
  const { displayName, primaryEmail, company, identityCount } = body;
  const values = {
    ...{ name: text(displayName), email: text(primaryEmail) },
    companyId: isObject(company) ? text(company.id) : company === null ? null : undefined,
    accounts: typeof identityCount === 'number' ? identityCount : undefined,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
