import { channelOf } from './wire/channels.js';
import { companyOf } from './wire/companies.js';
import type { Lens } from './wire/lens.js';
import { personOf } from './wire/people.js';
import { storyOf } from './wire/stories.js';
import { topicOf } from './wire/topics.js';

/**
 * The truth that a client's copy can be compared with: the ids of every resource, and with `full` each entity as its
 * detail endpoint answers it.
 */
export function stateOf(lens: Lens, full: boolean) {
  const { world } = lens;
  return {
    now: new Date(world.now).toISOString(),
    organization: world.organization,
    ids: {
      topics: [...world.topics.keys()],
      migratedTopics: [...world.topics.values()].filter((topic) => topic.migrated).map(({ id }) => id),
      supersededTopics: [...world.topics.values()]
        .filter((topic) => topic.graphStatus === 'superseded')
        .map(({ id }) => id),
      groups: [...world.groups.keys()],
      messages: [...world.messages.keys()],
      authors: [...world.authors.keys()],
      people: [...world.people.keys()],
      companies: [...world.companies.keys()],
      channels: [...world.channels.keys()],
      stories: [...world.stories.keys()],
      templates: [...world.templates.keys()],
      automations: [...world.automations.keys()],
    },
    ...(full ? { items: itemsOf(lens) } : {}),
  };
}

function itemsOf(lens: Lens) {
  const { world } = lens;
  return {
    topics: [...world.topics.values()].map((topic) => topicOf(lens, topic)),
    people: [...world.people.values()].map((person) => personOf(lens, person)),
    companies: [...world.companies.values()].map((company) => companyOf(lens, company)),
    channels: [...world.channels.values()].map((channel) => channelOf(lens, channel)),
    stories: [...world.stories.values()].map((story) => storyOf(story)),
    templates: [...world.templates.values()],
    automations: [...world.automations.values()].map(({ body }) => body),
  };
}
