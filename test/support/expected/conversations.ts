import { authorOf, groupOf, messagesJson, topicOfGroup } from '../../../src/sandbox/handlers/groups.js';
import type { Renderer } from '../../../src/sandbox/handlers/renderer.js';
import { listedGroupIds, topicCounts } from '../../../src/sandbox/world/counts.js';
import { getOrThrow } from '../../../src/sandbox/world/history.js';
import type { StoredGroup } from '../../../src/sandbox/world/types.js';
import { anything, type Check, columns, type ExpectedTable, nested, type Row, type Value } from './row.js';
import { listedTopics, readableTopics } from './topics.js';

/** Which topics, companies, and people without a company (`sync.personGroups`) return which conversations. */
interface Membership {
  readonly byTopic: ReadonlyMap<string, string>;
  readonly byCompany: readonly { group: string; company: string }[];
  readonly byPerson: readonly { group: string; person: string }[];
}

/** `ofUnreadable`: conversations and messages that only topics have which cannot be read any more, and keep what they had. */
export function conversationTables(
  renderer: Renderer,
  ofUnreadable: ReadonlySet<unknown> = new Set(),
): ExpectedTable[] {
  const membership = membershipOf(renderer);
  const byEntity = new Set([...membership.byCompany, ...membership.byPerson].map(({ group }) => group));
  const ids = new Set([...membership.byTopic.keys(), ...byEntity]);
  const groups = [...ids].map((id) => getOrThrow(renderer.world.groups, 'group', id));
  const messages = groups.flatMap((group) => messagesOf(renderer, group));
  const lastFetched = new LastFetched(renderer, ofUnreadable);
  return [
    groupTable(renderer, groups, membership, byEntity, lastFetched),
    topicGroups(renderer, groups, membership, byEntity),
    {
      table: 'group_companies',
      key: ['group_id', 'company_id'],
      rows: membership.byCompany.map(({ group, company }) => ({ group_id: group, company_id: company })),
    },
    groupPeople(renderer, groups, membership, lastFetched),
    ...messageTables(messages, lastFetched),
    authors(renderer, messages),
  ];
}

/**
 * Rows of conversations that the API no longer returns: those of topics that were archived in the migration, or superseded
 * without a successor. A topic that is not listed any more keeps the conversations that it had.
 */
class LastFetched {
  readonly #someWereDissolved: boolean;

  constructor(
    readonly renderer: Renderer,
    readonly ofUnreadable: ReadonlySet<unknown>,
  ) {
    this.#someWereDissolved = [...renderer.world.topics.values()].some(
      ({ graphStatus, successorTopicId }) => graphStatus === 'superseded' && successorTopicId === null,
    );
  }

  group(id: unknown): Row | null {
    const { groups, topics } = this.renderer.world;
    const group = groups.get(String(id));
    // Nothing says that it went from there, whether to another topic or to none.
    if (this.ofUnreadable.has(id)) return {};
    if (!group) return null;
    if (group.topicId !== null) return topics.get(group.topicId)?.migrated ? {} : null;
    return this.#someWereDissolved && group.similarityAtAssignment !== null ? {} : null;
  }

  message(id: unknown): Row | null {
    const message = this.renderer.world.messages.get(String(id));
    return message || !this.ofUnreadable.has(id) ? this.group(message?.groupId) : {};
  }
}

function membershipOf(renderer: Renderer): Membership {
  const { world } = renderer;
  const alone = [...world.people.values()].filter(({ companyId }) => companyId === null);
  return {
    byTopic: new Map(
      readableTopics(renderer).flatMap(({ id, groupIds }) =>
        groupIds.map((group): [string, string] => [group, id]),
      ),
    ),
    byCompany: [...world.companies.keys()].flatMap((company) =>
      listedGroupIds(world, { companyId: company }).map((group) => ({ group, company })),
    ),
    byPerson: alone.flatMap(({ id }) =>
      listedGroupIds(world, { personId: id }).map((group) => ({ group, person: id })),
    ),
  };
}

const topicColumns = {
  topicId: 'topic_id',
  topicTitle: 'topic_title',
  topicType: 'topic_type',
  isV2: 'topic_is_v2',
  keywords: 'topic_keywords',
  sources: 'topic_sources',
  linkedIssueKey: 'topic_linked_issue_key',
};

function groupTable(
  renderer: Renderer,
  groups: readonly StoredGroup[],
  membership: Membership,
  byEntity: ReadonlySet<string>,
  lastFetched: LastFetched,
): ExpectedTable {
  return {
    table: 'groups',
    key: ['id'],
    otherRow: ({ id }) => lastFetched.group(id),
    rows: groups.map((group) => {
      const wire = groupOf(renderer, group, membership.byTopic.has(group.id));
      const topic = byEntity.has(group.id) ? renderer.world.topics.get(group.topicId ?? '') : undefined;
      const about: Row = topic ? { ...topicOfGroup(renderer, topic) } : {};
      // These columns keep what the topic's last answer said before it lost the conversation or became unreadable.
      const nullOr = (expected: unknown) => (value: unknown) => value === null || value === expected;
      return {
        title: nullOr(group.title),
        similarity_at_assignment: nullOr(group.similarityAtAssignment),
        ...columns(wire),
        ...Object.fromEntries(Object.entries(topicColumns).map(([name, as]) => [as, about[name] ?? null])),
      };
    }),
    lagging: Object.values(topicColumns),
  };
}

function topicGroups(
  renderer: Renderer,
  groups: readonly StoredGroup[],
  membership: Membership,
  byEntity: ReadonlySet<string>,
): ExpectedTable {
  const isListed = new Set(listedTopics(renderer).map(({ id }) => id));
  return {
    table: 'topic_groups',
    key: ['topic_id', 'group_id'],
    rows: groups.flatMap(({ id, topicId, similarityAtAssignment }) => {
      const byTopic = membership.byTopic.has(id);
      if (topicId === null || !isListed.has(topicId) || !(byTopic || byEntity.has(id))) return [];
      const similarity = byTopic ? similarityAtAssignment : anything;
      return [{ topic_id: topicId, group_id: id, similarity_at_assignment: similarity }];
    }),
    otherRow: ({ topic_id: id }) =>
      isListed.has(String(id)) && !renderer.world.topics.get(String(id))?.migrated ? null : {},
  };
}

function groupPeople(
  renderer: Renderer,
  groups: readonly StoredGroup[],
  membership: Membership,
  lastFetched: LastFetched,
): ExpectedTable {
  const listed = new Set(membership.byPerson.map(({ group, person }) => `${group} ${person}`));
  const { authors, messages, people } = renderer.world;
  const rows = new Map<string, Row>();
  for (const { id, messageIds } of groups) {
    for (const messageId of messageIds) {
      const author = authors.get(messages.get(messageId)?.authorId ?? '');
      const person = people.get(author?.personId ?? '');
      if (!person) continue;
      const pair = `${id} ${person.id}`;
      rows.set(pair, { group_id: id, person_id: person.id, via: listed.has(pair) ? 'listed' : 'author' });
    }
  }
  return {
    table: 'group_people',
    key: ['group_id', 'person_id'],
    rows: [...rows.values()],
    otherRow: ({ group_id: id }) => lastFetched.group(id),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the answer as it goes over the wire
type WireMessage = any;

function messagesOf(
  renderer: Renderer,
  group: StoredGroup,
): { group: string; message: WireMessage; position: number }[] {
  const list: WireMessage[] = JSON.parse(messagesJson(renderer, group));
  return list.map((message, at) => {
    const before = list.slice(0, at).filter(({ createdAt }) => createdAt === message.createdAt).length;
    return { group: group.id, message, position: before + 1 };
  });
}

const nestedFields = ['author', 'channel', 'quoteHighlights', 'reactions', 'replyTo', 'thread'];

function messageTables(
  all: readonly { group: string; message: WireMessage; position: number }[],
  lastFetched: LastFetched,
): ExpectedTable[] {
  const stored = new Set<unknown>(all.map(({ message }) => message.id));
  return [
    {
      table: 'messages',
      key: ['id'],
      rows: all.map(({ group, message, position }) => ({
        position,
        ...columns(message, nestedFields),
        group_id: group,
        author_id: message.author?.id ?? null,
        ...nested('channel', ['id', 'channelName', 'serverName'], message.channel),
        reply_to: copy(message.replyTo, stored),
        thread: copy(message.thread, stored),
      })),
      otherRow: ({ id }) => lastFetched.message(id),
      lagging: ['reply_to', 'thread', 'channel_channel_name', 'channel_server_name'],
    },
    {
      table: 'message_reactions',
      key: ['message_id', 'identifier'],
      rows: all.flatMap(({ message }) => message.reactions.map((reaction: object) => columns(reaction))),
      otherRow: ({ message_id: id }) => lastFetched.message(id),
    },
    {
      table: 'message_quotes',
      key: ['message_id', 'position'],
      rows: all.flatMap(({ message }) =>
        (message.quoteHighlights ?? []).map((quote: object, index: number) => ({
          message_id: message.id,
          position: index + 1,
          ...columns(quote),
        })),
      ),
      otherRow: ({ message_id: id }) => lastFetched.message(id),
    },
  ];
}

/** The copy of another message: none of one that is stored, or that was. */
function copy(message: WireMessage, stored: ReadonlySet<unknown>): Value | Check {
  if (!message || stored.has(message.id)) return null;
  return (value: Value) => value === null || (value as Row).id === message.id;
}

function authors(renderer: Renderer, all: readonly { message: WireMessage }[]): ExpectedTable {
  const { world } = renderer;
  const ids = new Set(listedTopics(renderer).flatMap(({ id }) => topicCounts(world, id).authorIds));
  for (const { message } of all) {
    for (const one of [message, message.replyTo, message.thread]) if (one?.author) ids.add(one.author.id);
  }
  const row = (id: string) => columns(authorOf(renderer, getOrThrow(world.authors, 'author', id)));
  return {
    table: 'authors',
    key: ['id'],
    rows: [...ids].map(row),
    // Authors are never removed.
    otherRow: ({ id }) => (world.authors.has(String(id)) ? row(String(id)) : null),
  };
}
