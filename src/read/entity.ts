import type { Iso } from '../base/clock.js';
import type { Json } from '../base/json.js';
import { conversationLists, type Resources } from '../contract/resources.js';
import type { RequestRecord } from '../load/batch.js';
import { identifier, sqlFile, substitute } from '../store/sql.js';
import type { Snapshot } from './query.js';

/** What the warehouse knows of one topic, company, person or conversation, for `signalhouse explain`. */

export type EntityKind = 'topic' | 'company' | 'person' | 'conversation';

interface KindOfEntity {
  readonly table: string;
  /** The column with its title or name. */
  readonly name: string;
  /** Whether a row is gone, as SQL. */
  readonly gone: string;
  /** Its list; null for a conversation, which comes with topics, companies and people. */
  readonly list: string | null;
  /** Its earlier states, and their column with its id. */
  readonly versions: { readonly table: string; readonly key: string } | null;
  /** The ids of its conversations, as SQL over $id. */
  readonly conversations: string;
}

const deleted = 'deleted_at IS NOT NULL';

const kinds: Readonly<Record<EntityKind, KindOfEntity>> = {
  topic: {
    table: 'topics',
    name: 'title',
    gone: deleted,
    list: 'topics',
    versions: { table: 'topic_versions', key: 'topic_id' },
    conversations: 'SELECT group_id FROM topic_groups WHERE topic_id = $id',
  },
  company: {
    table: 'companies',
    name: 'name',
    gone: deleted,
    list: 'companies',
    versions: { table: 'company_versions', key: 'company_id' },
    conversations: 'SELECT group_id FROM group_companies WHERE company_id = $id',
  },
  person: {
    table: 'people',
    name: 'display_name',
    gone: deleted,
    list: 'people',
    versions: { table: 'people_versions', key: 'person_id' },
    conversations: 'SELECT group_id FROM group_people WHERE person_id = $id',
  },
  conversation: {
    table: 'groups',
    name: 'title',
    gone: 'false',
    list: null,
    versions: null,
    conversations: 'SELECT $id',
  },
};

/** The list whose items these entities are; null for conversations. */
export function listOf(kind: EntityKind): string | null {
  return kinds[kind].list;
}

/** An entity that an id or a title may mean. */
export interface FoundEntity {
  readonly id: string;
  readonly name: string | null;
  readonly isGone: boolean;
}

/**
 * The entities of a kind that `what` may mean: the one with this id, else those with this title or name, else those whose
 * title or name contains it.
 */
export async function findEntities(
  snapshot: Snapshot,
  kind: EntityKind,
  what: string,
): Promise<FoundEntity[]> {
  const { table, name, gone } = kinds[kind];
  const sql = substitute(sqlFile('explain/find'), { table, name, gone });
  const found = await snapshot.all<FoundEntity & { match: string }>(sql, { what });
  const best = found[0]?.match;
  return found.flatMap(({ match, ...entity }) => (match === best ? entity : []));
}

/** The kinds of things that have this id, with their titles. */
export function kindsOfId(snapshot: Snapshot, id: string): Promise<{ kind: string; name: string | null }[]> {
  return snapshot.all(sqlFile('explain/kinds_of_id'), { id });
}

/** The row of an entity with the names of its columns; null when the tables have none. */
export async function rowOf(
  snapshot: Snapshot,
  kind: EntityKind,
  id: string,
): Promise<Record<string, Json> | null> {
  const [row] = await snapshot.all(`SELECT * FROM ${kinds[kind].table} WHERE id = $id`, { id });
  return row ?? null;
}

/** The kinds of documents that are about an entity itself (its id is theirs), and those that belong to it. */
export interface DocumentKinds {
  readonly about: readonly string[];
  readonly within: readonly string[];
}

/** Which kinds of documents hold what is known of an entity of this kind. */
export function documentKinds({ lists, children, embedded }: Resources, kind: EntityKind): DocumentKinds {
  const list = lists.find(({ name }) => name === kinds[kind].list);
  if (!list) {
    const bring = conversationLists({ children });
    return { about: bring.map(({ name }) => name), within: ['messages'] };
  }
  const own = children.filter(({ parent }) => parent === list.name);
  const merges = own.flatMap(({ answer }) => (answer.form === 'history' ? answer.merges.kind : []));
  const objects = own.flatMap(({ name, answer }) => (answer.form === 'object' ? name : []));
  const inside = Object.entries(embedded).flatMap(([name, { parent }]) => (parent === list.name ? name : []));
  return {
    about: [list.name, ...(list.presence === null ? [] : [list.presence]), ...objects, ...merges],
    within: [...own.map(({ name }) => name), ...inside],
  };
}

/** Whether an entity still exists, and what shows it. */
export interface Presence {
  /** When its list item last changed; null when no list had it. */
  readonly itemAt: Iso | null;
  readonly deletedAt: Iso | null;
  readonly deletedReason: string | null;
  readonly mergedIntoId: string | null;
  /** Why it is listed and has no detail. */
  readonly detailUnavailableReason: string | null;
  /** Since when it is answered by id and not listed any more. */
  readonly unlistedSince: Iso | null;
  readonly askedAt: Iso | null;
  /** The run that found it so, and its scan of the list. */
  readonly runId: string | null;
  readonly scanAt: Iso | null;
  readonly scanVerified: boolean | null;
  readonly scanIds: number | null;
  readonly scanTotal: number | null;
}

/** Whether an entity still exists, by its list; null for conversations, which have no list. */
export async function presenceOf(
  snapshot: Snapshot,
  { lists }: Resources,
  kind: EntityKind,
  id: string,
): Promise<Presence | null> {
  const list = lists.find(({ name }) => name === kinds[kind].list);
  if (!list) return null;
  const params = { id, list: list.name, presence: list.presence ?? '' };
  const [found = null] = await snapshot.all<Presence>(sqlFile('explain/presence'), params);
  return found;
}

/** One request that named an entity. */
export interface EntityRequest extends Omit<RequestRecord, 'at'> {
  readonly at: Iso;
  readonly runId: string;
}

/** The newest 100 requests with one of these paths or queries, and how many there are. */
export async function requestsOf(
  snapshot: Snapshot,
  requests: readonly string[],
): Promise<{ total: number; newest: EntityRequest[] }> {
  const parts = requests.map((request) => request.split('?') as [string, string?]);
  const named = (isShared: boolean) => parts.filter(([, query]) => (query !== undefined) === isShared);
  const rows = await snapshot.all<EntityRequest & { total: number }>(sqlFile('explain/requests'), {
    paths: named(false).map(([path]) => path),
    shared: named(true).map(([path]) => path),
    parameters: named(true).map(([, query]) => query ?? ''),
  });
  return {
    total: rows[0]?.total ?? 0,
    newest: rows.map(({ total: _, ...request }) => request),
  };
}

/** One run that requested something about an entity or changed what is stored of it. */
export interface EntityRun {
  readonly runId: string;
  /** Null for a run that is no longer recorded (`retention.recordsDays`), like what follows. */
  readonly command: string | null;
  readonly startedAt: Iso | null;
  readonly endedAt: Iso | null;
  readonly outcome: string | null;
  readonly exitCode: number | null;
  /** Documents of it that this run changed last. */
  readonly documents: number;
}

/** The runs that requested something about an entity or changed what is stored of it, newest first, at most 50. */
export function runsOf(
  snapshot: Snapshot,
  id: string,
  { about, within }: DocumentKinds,
  requests: readonly EntityRequest[],
): Promise<EntityRun[]> {
  const runIds = [...new Set(requests.map(({ runId }) => runId))];
  return snapshot.all(sqlFile('explain/runs'), { id, run_ids: runIds, kinds: about, children: within });
}

/** A rejected record of an entity, or of something that belongs to it. */
export interface EntityRejection {
  readonly endpoint: string;
  readonly id: string | null;
  readonly path: string;
  readonly reason: string;
  readonly firstSeenAt: Iso;
  readonly lastSeenAt: Iso;
  readonly seenCount: number;
  /** Null while it is still rejected. */
  readonly resolvedAt: Iso | null;
  readonly runId: string;
}

/** The records of an entity that were rejected, also those that are stored by now. */
export function rejectionsOf(
  snapshot: Snapshot,
  id: string,
  { about, within }: DocumentKinds,
): Promise<EntityRejection[]> {
  return snapshot.all(sqlFile('explain/rejected'), { id, kinds: about, children: within });
}

/** The earlier states of an entity, oldest first, with the names of their columns. */
export async function versionsOf(
  snapshot: Snapshot,
  kind: EntityKind,
  id: string,
): Promise<Record<string, Json>[]> {
  const { versions } = kinds[kind];
  if (!versions) return [];
  const { table, key } = versions;
  return snapshot.all(
    `SELECT * EXCLUDE (${identifier(key)}) FROM ${table} WHERE ${identifier(key)} = $id ORDER BY valid_from`,
    { id },
  );
}

/** One record of the API's own history. */
export interface HistoryRecord {
  readonly at: Iso;
  readonly operation: string | null;
  readonly changes: Json;
  readonly previousValues: Json;
  readonly by: string | null;
  readonly runId: string;
}

/** One merge in which an entity is the survivor or was merged. */
export interface EntityMerge {
  readonly at: Iso;
  readonly sourceId: string;
  readonly sourceName: string | null;
  readonly targetId: string;
  readonly targetName: string | null;
  readonly by: string | null;
  readonly runId: string;
}

/** An entity's records in the API's own history. */
export function historyOf(snapshot: Snapshot, kind: EntityKind, id: string): Promise<HistoryRecord[]> {
  return snapshot.all(sqlFile('explain/history'), { entity_type: kind, id });
}

/** The merges in which an entity took part. */
export function mergesOf(snapshot: Snapshot, kind: EntityKind, id: string): Promise<EntityMerge[]> {
  return snapshot.all(sqlFile('explain/merges'), { entity_type: kind, id });
}

/** The messages of one day of a conversation. */
export interface MessageDay {
  readonly at: Iso;
  readonly messages: number;
  readonly edited: number;
  readonly deleted: number;
  readonly authors: readonly string[];
}

/** A company or person with messages in the conversations of an entity, or one of their latest messages. */
export interface Around {
  readonly what: 'company' | 'person' | 'message';
  readonly name: string | null;
  readonly messages: number | null;
  readonly at: Iso | null;
  readonly text: string | null;
}

/** Who writes most in the conversations of an entity, and what was said last: up to five of each. */
export function aroundOf(snapshot: Snapshot, kind: EntityKind, id: string): Promise<Around[]> {
  const { conversations } = kinds[kind];
  return snapshot.all(substitute(sqlFile('explain/around'), { conversations }), { id });
}

/** The messages of a conversation, by day. */
export function messageDaysOf(snapshot: Snapshot, id: string): Promise<MessageDay[]> {
  return snapshot.all(sqlFile('explain/messages'), { id });
}

/** The children that bring a conversation, each with the topic, company or person whose conversations have it. */
export function fetchedWith(
  snapshot: Snapshot,
  resources: Resources,
  id: string,
): Promise<{ resource: string; entityId: string; at: Iso | null }[]> {
  const bring = conversationLists(resources);
  return snapshot.all(sqlFile('explain/fetched_with'), { id, resources: bring.map(({ name }) => name) });
}

/** The last sync that ended. */
export interface LastSync {
  readonly runId: string;
  readonly endedAt: Iso;
  readonly outcome: string;
  /** The cap or signal that ended it before everything was done. */
  readonly stoppedBy: string | null;
  readonly leftDue: number | null;
  /** Whether every list was read to its end: what is due of the rest is not known. */
  readonly complete: boolean;
  /** Resources that failed as a whole: lists that could not be read, and children that it stopped asking for. */
  readonly failedResources: readonly string[] | null;
}

/** The last sync that ended; null before the first one. */
export async function lastSync(snapshot: Snapshot): Promise<LastSync | null> {
  const [last = null] = await snapshot.all<LastSync>(sqlFile('explain/last_sync'), {});
  return last;
}
