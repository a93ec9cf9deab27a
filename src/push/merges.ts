import { Priority } from '../api/client.js';
import { folded } from '../base/closest.js';
import { ContractError, RejectedError, UsageError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import type { Snapshot } from '../warehouse/read/query.js';
import { sqlFile } from '../warehouse/sql.js';
import { idText } from './answer.js';
import { type Change, mergedInto } from './change.js';
import type { Remote } from './compare.js';
import type { PushContext } from './context.js';
import type { NewChange, Queue } from './queue.js';
import { named } from './stored.js';

/**
 * Merges of people, `POST /people/merge`: a change of the person who goes, in the same queue and sent in the same way. It has no
 * base and no undo, so both people are shown, and compared with what the API has, before it is confirmed.
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

export interface MergeRequest {
  readonly requestedBy: string | null;
  readonly requestedReason: string | null;
  readonly dryRun: boolean;
}

export interface MergeReport extends Pair {
  readonly outcome: 'merged' | 'already_merged' | 'declined' | 'dry_run' | 'refused' | 'failed' | 'waiting';
  /** The change; null when nothing was queued. */
  readonly id: string | null;
  /** Why the two must not be merged. */
  readonly problems: readonly string[];
  readonly error: string | null;
  readonly exitCode: 0 | 3;
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

/** The change that merges two people. */
export function newMerge({ source, target }: Pair, request: MergeRequest, importId: string): NewChange {
  return {
    entityType: 'person',
    entityId: source.id,
    wanted: { [mergedInto]: target.id },
    base: {},
    baseFrom: 'warehouse',
    baseAt: null,
    requestedBy: request.requestedBy,
    requestedReason: request.requestedReason,
    source: 'merge-people',
    sourceHash: null,
    sourceRow: null,
    importId,
  };
}

/** The merges of these two people, or of one of them with somebody else, that wait or are in doubt. */
export function openMerges(queue: Queue, { source, target }: Pair) {
  const ids = [source.id, target.id];
  const open = queue.withStatus('queued', 'sending').filter((change) => {
    const { entityType, entityId, wanted } = change;
    return entityType === 'person' && [entityId, wanted[mergedInto]].some((id) => ids.includes(String(id)));
  });
  const isOwn = ({ entityId, wanted }: Change) => entityId === source.id && wanted[mergedInto] === target.id;
  return { own: open.find(isOwn), others: open.filter((change) => !isOwn(change)) };
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

/** What the API says of a person now. */
export type RemotePerson =
  | { readonly state: 'there'; readonly values: RemoteValues }
  | { readonly state: 'merged'; readonly into: string }
  | { readonly state: 'gone' };

type RemoteValues = Partial<Pick<KnownPerson, 'name' | 'email' | 'companyId' | 'accounts'>>;

type PeopleApi = Pick<PushContext, 'api' | 'stop'>;

export interface RemotePair {
  readonly source: RemotePerson;
  readonly target: RemotePerson;
}

/** What the API has of both people of a pair. Throws what the client throws. */
export async function readBoth(context: PeopleApi, sourceId: string, targetId: string): Promise<RemotePair> {
  const target = await readPerson(context, targetId);
  return { source: await readPerson(context, sourceId, targetId), target };
}

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
  if (known.isDeleted || known.mergedIntoId !== null)
    return [
      `${who} was deleted when the published file was made, and is there again: run signalhouse sync first`,
    ];
  return compared.flatMap(([field, label]) => {
    const [was, is] = [known[field] ?? null, now.values[field]];
    if (is === undefined || is === was) return [];
    return [
      `${who} has changed since the published file: ${label} was ${shown(was)} and is ${shown(is)}. Run signalhouse sync, and look at both again`,
    ];
  });
}

/** What identifies a person. Counts of messages move with every message, and say nothing about it. */
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

/** What the API has for a merge that is queued or was sent, as the comparison of every change reads it. */
export async function readMerge(
  context: PeopleApi,
  { entityId, wanted }: Pick<Change, 'entityId' | 'wanted'>,
): Promise<Remote> {
  const targetId = String(wanted[mergedInto]);
  const { source, target } = await readBoth(context, entityId, targetId);
  const values = (into: string | null): Remote => {
    return { values: { [mergedInto]: into }, unknownConnections: [] };
  };
  const notFound = (code: string, message: string): Remote => {
    return { notFound: { code, message, status: 404 } };
  };
  if (source.state === 'gone') return notFound('not_found', `the API has no person ${entityId}`);
  if (source.state === 'merged')
    return source.into === targetId
      ? values(targetId)
      : notFound('merged', `person ${entityId} was merged into ${source.into} already`);
  if (target.state !== 'there')
    return notFound('not_found', `the API has no person ${targetId} any more, who was to stay`);
  return values(null);
}

/**
 * What the API has of a person. Somebody who is answered is there, whatever a history says: it says what happened, and a merge
 * may have been undone. Of somebody who is not, it says where they went: their own history, or that of `survivorId`.
 */
async function readPerson(context: PeopleApi, id: string, survivorId?: string): Promise<RemotePerson> {
  const body = await readOrNull(context, 'person', id);
  if (body === null) {
    const into =
      (await readMerges(context, id)).into ??
      (survivorId !== undefined && (await readMerges(context, survivorId)).sources.includes(id)
        ? survivorId
        : null);
    return into === null ? { state: 'gone' } : { state: 'merged', into };
  }
  const answered = isObject(body) ? idText(body.id) : undefined;
  if (!isObject(body) || answered === undefined) {
    const where = { endpoint: 'person', method: 'GET', path: `/people/${id}` };
    throw new ContractError(`person: GET ${where.path} returned something that is not a person`, where);
  }
  return answered === id ? { state: 'there', values: valuesOf(body) } : { state: 'merged', into: answered };
}

/** Null for a 404. */
async function readOrNull({ api, stop }: PeopleApi, name: string, personId: string): Promise<unknown> {
  try {
    const options = { priority: Priority.push, signal: stop };
    return (await api.call(name, { params: { personId } }, options)).body;
  } catch (error) {
    if (error instanceof RejectedError && error.status === 404) return null;
    throw error;
  }
}

async function readMerges(
  context: PeopleApi,
  id: string,
): Promise<{ readonly into: string | null; readonly sources: readonly string[] }> {
  // The document allows digits only here; others have no history.
  const body = /^\d+$/.test(id) ? await readOrNull(context, 'person_history', id) : null;
  if (!isObject(body)) return { into: null, sources: [] };
  const { mergedInto: went, merges } = body;
  const into = isObject(went) && isObject(went.targetPerson) ? idText(went.targetPerson.id) : undefined;
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
    name: text(displayName),
    email: text(primaryEmail),
    companyId: isObject(company) ? text(company.id) : company === null ? null : undefined,
    accounts: typeof identityCount === 'number' ? identityCount : undefined,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
