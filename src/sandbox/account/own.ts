// biome-ignore lint/suspicious/noExplicitAny: an answer as it goes over the wire
type Wire = any;

/** An object that copies another thing, as all that counts of it: which thing it is. */
const which = (copy: Wire) => copy && { id: copy.id };

/** Of the messages of a conversation, what they say themselves. */
const messages = (list: Wire[]) =>
  list.map(({ author, channel, replyTo: _, thread: __, ...own }) => ({
    ...own,
    author: which(author),
    channel: which(channel),
  }));

const conversations = ({ data }: Wire) => data.map((item: Wire) => conversation(item));

/** A conversation of a topic, a company or a person, without what it copies of its topic. */
export function conversation({ messages: list, topic, ...own }: Wire): Wire {
  return { ...own, topicId: topic?.topicId, messages: messages(list) };
}

const bodies: Record<string, (body: Wire) => Wire> = {
  topic: ({ successorTopic, ...own }) => ({ ...own, successorTopic: which(successorTopic) }),
  topic_groups: conversations,
  topic_people: ({ data }) =>
    data.map(({ id, identities, isBot, messageCount, sources }: Wire) => ({
      ...{ id, identities, isBot, messageCount, sources },
    })),
  // The last weeks are others each Monday, though nobody wrote.
  company_activity: ({ weeklyActivity: _, ...own }) => own,
  person: ({ company, weeklyActivity: _, ...own }) => ({ ...own, company: which(company) }),
};

/**
 * What an answer says of its own thing: without the copies of other things in it, which change when those do, and
 * without what moves with the clock.
 */
export function own(endpoint: string, body: Wire): Wire {
  return bodies[endpoint]?.(body) ?? body;
}
