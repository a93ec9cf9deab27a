import type { World } from '../../../../src/sandbox/world/types.js';

/** The contradictions in a world; empty when there are none. */
export function contradictions(world: World): string[] {
  const found: string[] = [];
  const check = (holds: boolean, what: string) => {
    if (!holds) found.push(what);
  };
  const groupsInTopics = new Map<string, string>();
  for (const [id, topic] of world.topics) {
    check(topic.id === id, `topic ${id} is filed under another id`);
    for (const groupId of topic.groupIds) {
      check(!groupsInTopics.has(groupId), `group ${groupId} stands twice in topics`);
      groupsInTopics.set(groupId, id);
      check(world.groups.get(groupId)?.topicId === id, `group ${groupId} does not know its topic`);
    }
    const successor = topic.successorTopicId;
    check(successor === null || (successor !== id && world.topics.has(successor)), `topic ${id}: successor`);
    check(
      (topic.graphStatus === 'superseded') === (topic.supersededAt !== null),
      `topic ${id}: supersededAt`,
    );
    check(topic.graphStatus !== 'archived' || topic.archivedAt !== null, `topic ${id}: archivedAt`);
    check(topic.graphStatus !== 'active' || topic.archivedAt === null, `topic ${id}: active and archived`);
    check(
      topic.archivedByUserId === null || world.members.has(topic.archivedByUserId),
      `topic ${id}: archivedBy`,
    );
    check(topic.createdAt <= topic.updatedAt && topic.updatedAt <= world.now, `topic ${id}: times`);
  }
  const messagesInGroups = new Set<string>();
  for (const [id, group] of world.groups) {
    check(
      group.topicId === null || groupsInTopics.get(id) === group.topicId,
      `group ${id} is not in its topic`,
    );
    check(world.channels.has(group.channelId), `group ${id}: channel`);
    let last = 0;
    for (const messageId of group.messageIds) {
      messagesInGroups.add(messageId);
      const message = world.messages.get(messageId);
      check(message?.groupId === id, `message ${messageId} does not know its group`);
      check((message?.createdAt ?? 0) >= last, `group ${id} is not oldest first`);
      last = message?.createdAt ?? 0;
    }
  }
  for (const [id, message] of world.messages) {
    check(messagesInGroups.has(id), `message ${id} is in no group`);
    check(world.authors.has(message.authorId), `message ${id}: author`);
    check(message.replyToId === null || world.messages.has(message.replyToId), `message ${id}: replyTo`);
    check(message.threadId === null || world.messages.has(message.threadId), `message ${id}: thread`);
    check(message.createdAt <= world.now, `message ${id} is from the future`);
    for (const at of [message.editedAt, message.deletedAt]) {
      check(
        at === null || (at >= message.createdAt && at <= world.now),
        `message ${id}: edited or deleted when`,
      );
    }
  }
  const owners = new Map<string, string>();
  for (const [id, person] of world.people) {
    check(/^\d+$/.test(id) && person.id === id, `person ${id}: id`);
    check(person.companyId === null || world.companies.has(person.companyId), `person ${id}: company`);
    for (const authorId of person.authorIds) {
      check(!owners.has(authorId), `author ${authorId} is two people`);
      owners.set(authorId, id);
    }
  }
  for (const [id, author] of world.authors) {
    check(author.personId === (owners.get(id) ?? null), `author ${id}: person`);
  }
  let own = 0;
  for (const [id, company] of world.companies) {
    check(/^\d+$/.test(id) && company.id === id, `company ${id}: id`);
    if (company.isOrgCompany) own += 1;
  }
  check(own <= 1, 'more than one company is the organization');
  const historyIds = new Set<string>();
  for (const [key, records] of world.history) {
    let last = 0;
    for (const record of records) {
      check(!historyIds.has(record.id), `history ${record.id} stands twice`);
      historyIds.add(record.id);
      check(`${record.entityType}:${record.entityId}` === key, `history ${record.id} is filed elsewhere`);
      check(record.changedAt >= last && record.changedAt <= world.now, `history of ${key}: order`);
      check(record.userId === null || world.members.has(record.userId), `history ${record.id}: user`);
      last = record.changedAt;
    }
  }
  for (const merge of world.merges) {
    for (const source of merge.sources) {
      check(
        !mapOf(world, merge.entityType).has(source.id),
        `${source.id} was merged away and is still there`,
      );
    }
  }
  return found;
}

/** The content of a world as text, without its present. */
export function contentOf(world: World): string {
  return JSON.stringify(world, (key, value) =>
    value instanceof Map ? [...value] : key === 'now' && typeof value === 'number' ? undefined : value,
  );
}

function mapOf(world: World, type: 'topic' | 'company' | 'person'): ReadonlyMap<string, unknown> {
  return { topic: world.topics, company: world.companies, person: world.people }[type];
}
