import type { Change } from '../../src/sandbox/world/changes/index.js';
import type { World } from '../../src/sandbox/world/types.js';
import type { ChangeMove } from './life.js';

type Kind = 'topics' | 'people' | 'companies';

/** What was deleted, so that it can be brought back: not before a night has seen that it is gone. */
export class Removed {
  readonly #earlier: Record<Kind, string[]> = { topics: [], people: [], companies: [] };
  readonly #today: [Kind, unknown][] = [];
  /** What was gone at some time since the last calm. */
  readonly ever = new Set<unknown>();
  /** Messages that went where nothing may have counted them (docs/assumptions.md), and their conversations: they may stay. */
  readonly #uncounted = new Set<string>();
  /** Messages that went from listed topics, with their conversations: without the topic, nothing counts them either. */
  readonly #counted = new Map<string, string>();
  /**
   * People and companies between whom an account moved on a day when something else hid that from their counters: which
   * conversations are theirs is found by age (docs/assumptions.md).
   */
  readonly exchanged = new Set<string>();
  /** What came back, and goes only after a run has seen it. */
  readonly #returned = new Set<unknown>();
  /** What others were merged into since then: only their histories say so, so that they stay until a night has read them. */
  readonly #survivors = new Set<unknown>();
  /** Survivors that went all the same before that: nobody merges away or deletes one, but a list that drifts loses anybody. */
  readonly lostSurvivors = new Set<unknown>();

  /**
   * Of a change that is made next. Nothing shows that a superseded topic came back, which is in no list, or which conversations a
   * migrated one has that did: they stay away.
   */
  made({ kind, ...of }: Change, world: World): void {
    const { topics } = world;
    this.goes({ kind, ...of }, world);
    if (/^(delete|restore)/.test(kind)) for (const id of Object.values(of)) this.ever.add(id);
    if (/^restore/.test(kind)) for (const id of Object.values(of)) this.#returned.add(id);
    if (of.targetId !== undefined) this.#survivors.add(of.targetId);
    const topic = topics.get(String(of.topicId));
    const isListed = topic?.graphStatus !== 'superseded' && !topic?.migrated;
    if (kind === 'deleteTopic' && isListed) this.#today.push(['topics', of.topicId]);
    if (kind === 'mergeTopics') this.#today.push(['topics', [of.sourceIds].flat()[0]]);
    if (kind === 'deletePerson') this.#today.push(['people', of.personId]);
    if (kind === 'deleteCompany') this.#today.push(['companies', of.companyId]);
    if (kind === 'restoreTopic') this.#earlier.topics.pop();
    if (kind === 'restorePerson') this.#earlier.people.pop();
    if (kind === 'restoreCompany') this.#earlier.companies.pop();
  }

  /** `isRead` where its run came to its end. */
  nightIsOver(isRead: boolean): void {
    if (isRead) this.#returned.clear();
    for (const [kind, id] of this.#today.splice(0)) this.#earlier[kind].push(String(id));
  }

  /** Of a change that is made next, or between two requests of the next run: a message goes. */
  goes({ kind, ...of }: Change, world: World): void {
    this.mayStay(world);
    if (kind !== 'removeMessage') return;
    const id = String(of.messageId);
    const groupId = String(world.messages.get(id)?.groupId);
    if (isShown(world, { kind, ...of })) this.#counted.set(id, groupId);
    else this.#uncounted.add(id).add(groupId);
  }

  /** Messages, and their conversations, that may be shown although they went: before anything counted them less. */
  mayStay(world: World): ReadonlySet<string> {
    for (const [id, groupId] of this.#counted)
      if (!isInListedTopic(world, groupId)) this.#uncounted.add(id).add(groupId);
    return this.#uncounted;
  }

  /** Everything was read that there is. */
  calm(world: World): void {
    const { topics, people, companies } = world;
    this.ever.clear();
    this.exchanged.clear();
    this.mayStay(world);
    this.#counted.clear();
    for (const id of this.#survivors)
      if (![topics, people, companies].some((all) => all.has(String(id)))) this.lostSurvivors.add(id);
    this.#survivors.clear();
  }

  last(kind: Kind): string | undefined {
    return this.#earlier[kind].at(-1);
  }

  mayGo<T>(ids: readonly T[]): T[] {
    return ids.filter((id) => !this.#survivors.has(id) && !this.#returned.has(id));
  }
}

/** The change that a move stands for in the organization as it is; undefined when there is nothing to change so. */
export function changeOf(world: World, removed: Removed, move: ChangeMove): Change | undefined {
  const { change: kind, of, with: other } = move;
  const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];
  const all = [...world.topics.values()];
  // Nothing shows what becomes of a superseded one, which is in no list.
  const topics = all.flatMap((one) => (one.graphStatus === 'superseded' ? [] : one.id));
  const live = all.flatMap((one) => (one.graphStatus === 'active' && !one.migrated ? one.id : []));
  // What came back and was superseded before it was read would be in no list again.
  const everThere = live.filter((id) => !removed.ever.has(id));
  const archived = all.flatMap((one) => (one.graphStatus === 'archived' && !one.migrated ? one.id : []));
  const people = [...world.people.keys()];
  const companies = [...world.companies.values()].flatMap((one) => (one.isOrgCompany ? [] : one.id));
  const groups = [...world.groups.keys()];
  const messages = [...world.messages.keys()];
  const account = pick([...world.authors.values()], other);
  const given: Record<ChangeMove['change'], Record<string, unknown>> = {
    createTopic: { title: `topic ${other}` },
    deleteTopic: { topicId: pick(removed.mayGo(topics), of) },
    restoreTopic: { topicId: removed.last('topics') },
    mergeTopics: { sourceIds: [pick(removed.mayGo(live), of)], targetId: pick(live, other) },
    supersedeTopic: { topicId: pick(everThere, of), successorId: pick(live, other) },
    archiveTopic: { topicId: pick(live, of) },
    unarchiveTopic: { topicId: pick(archived, of) },
    patchTopic: {
      topicId: pick(live, of),
      fields: { title: `title ${other}`, priority: other % 2 ? 'high' : 'low' },
    },
    migrateTopic: { topicId: pick(live, of) },
    createPerson: { fields: { displayName: `somebody ${other}` } },
    deletePerson: { personId: pick(removed.mayGo(people), of) },
    restorePerson: { personId: removed.last('people') },
    mergePeople: { sourceIds: [pick(removed.mayGo(people), of)], targetId: pick(people, other) },
    employ: { personId: pick(people, of), companyId: other % 3 ? (pick(companies, other) ?? null) : null },
    patchPerson: {
      personId: pick(people, of),
      fields: { displayName: `name ${other}`, isVip: other % 2 === 0 },
    },
    linkIdentity: {
      personId: pick(people, of),
      platform: account?.sourceName,
      platformId: account?.sourceAuthorId,
    },
    createCompany: { fields: { name: `company ${other}` } },
    deleteCompany: { companyId: pick(removed.mayGo(companies), of) },
    restoreCompany: { companyId: removed.last('companies') },
    mergeCompanies: { sourceIds: [pick(removed.mayGo(companies), of)], targetId: pick(companies, other) },
    patchCompany: { companyId: pick(companies, of), fields: { name: `company ${other}` } },
    linkCompanyIdentity: { companyId: pick(companies, of), platform: 'crm', platformId: String(other % 5) },
    addGroup: { channelId: pick([...world.channels.keys()], of), topicId: pick(live, other) },
    addMessage: {
      groupId: pick(groups, of),
      authorId: pick([...world.authors.keys()], other),
      content: `said ${other}`,
    },
    editMessage: { messageId: pick(messages, of), content: `edited ${other}` },
    deleteMessage: { messageId: pick(messages, of) },
    removeMessage: { messageId: pick(messages, of) },
    react: { messageId: pick(messages, of), identifier: `r${other % 3}`, unicode: null },
    assignGroup: { groupId: pick(groups, of), topicId: other % 3 ? (pick(live, other) ?? null) : null },
  };
  const wanted = given[kind];
  const { sourceIds, targetId } = wanted as { sourceIds?: unknown[]; targetId?: unknown };
  const isComplete = Object.values(wanted)
    .flat()
    .every((value) => value !== undefined);
  if (!isComplete || (sourceIds && sourceIds[0] === targetId)) return undefined;
  // So small an organization would soon have nothing left.
  const left = /Topics?$/.test(kind)
    ? topics.length - 5
    : /Compan/.test(kind)
      ? companies.length
      : people.length - 5;
  if (/^(delete|merge)(Topic|Person|People|Compan)/.test(kind) && left < 3) return undefined;
  if (kind === 'removeMessage' && messages.length < 40) return undefined;
  return { kind, ...wanted };
}

/**
 * Where a conversation has no topic that is listed, only the counters of who writes in it show that something came or went; and
 * those do not count what was deleted.
 */
export function isShown(world: World, { kind, ...of }: Change): boolean {
  const { messages, authors } = world;
  if (kind === 'removeMessage' && messages.get(String(of.messageId))?.deletedAt !== null) return false;
  const { groupId = '' } = kind === 'addMessage' ? of : (messages.get(String(of.messageId)) ?? {});
  if (isInListedTopic(world, String(groupId))) return true;
  // Those of a message that goes may never have been read.
  if (kind === 'removeMessage') return false;
  return kind !== 'addMessage' || (authors.get(String(of.authorId))?.personId ?? null) !== null;
}

function isInListedTopic({ groups, topics }: World, groupId: string): boolean {
  const topic = topics.get(groups.get(groupId)?.topicId ?? '');
  return topic?.graphStatus === 'active' && !topic.migrated;
}

/** What a change is about: topics, people and companies, also those of its conversation, of its author and of its account before. */
export function concernedBy({ messages, groups, authors }: World, { kind: _, ...of }: Change): string[] {
  const groupId = String(of.groupId ?? messages.get(String(of.messageId))?.groupId ?? '');
  const authorId = of.authorId ?? messages.get(String(of.messageId))?.authorId;
  const own = [of.topicId, of.personId, of.companyId, of.targetId, of.successorId, of.sourceIds].flat();
  const account = [...authors.values()].find(
    ({ sourceName, sourceAuthorId }) => sourceName === of.platform && sourceAuthorId === of.platformId,
  );
  const writer = authors.get(String(authorId));
  const all = [...own, groups.get(groupId)?.topicId, writer?.personId, account?.personId];
  return all.flatMap((id) => (typeof id === 'string' ? id : []));
}

/** The fields that a change sets, by entity, as columns of a sheet. */
export function setBy({ kind, topicId, companyId, fields }: Change): string[] {
  const id = topicId ?? companyId;
  if (id === undefined) return [];
  if (kind === 'archiveTopic' || kind === 'unarchiveTopic') return [`${id} archived`];
  return Object.keys(fields ?? {}).map((name) => columnOf(String(id), name));
}

/** A field of an entity, by its column in a sheet. */
export function columnOf(id: string, field: string): string {
  return `${id} ${field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
}
