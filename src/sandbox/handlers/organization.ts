import { notFound } from '../errors.js';
import { channelOf, storyItem, storyOf, viewerRelevance } from '../wire/organization.js';
import { iso } from '../wire/renderer.js';
import type { StoredStory } from '../world/types.js';
import { answer, type Handlers, required } from './call.js';
import { listAnswer } from './lists.js';

/** The organization itself, its channels, automation templates and stories. */
export const readService: Pick<
  Handlers,
  'whoami' | 'channels' | 'channel' | 'automation_templates' | 'automation_template'
> = {
  whoami: ({ world }) => {
    const { id, name, slug } = world.organization;
    return answer({ organization: { id, name, slug } });
  },

  channels: (call) => {
    const form = { form: call.service.settings.forms.channels, property: 'channels' };
    return listAnswer(call, form, call.query, [...call.world.channels.values()], (channel) =>
      JSON.stringify(channelOf(call.renderer, channel)),
    );
  },

  channel: ({ renderer, params, world }) =>
    answer(channelOf(renderer, required(world.channels, 'Channel', params.channelId))),

  automation_templates: (call) => {
    const form = { form: call.service.settings.forms.templates, property: 'templates' };
    return listAnswer(call, form, call.query, [...call.world.templates.values()], (template) =>
      JSON.stringify(template),
    );
  },

  automation_template: ({ params, world }) =>
    answer(required(world.templates, 'Automation template', params.slug)),
};

/** `GET /stories` without a `limit`; the document shows only its range. */
const defaultLimit = 50;

/** The stories of each bucket. Only `archived` contains archived stories. */
const buckets: Record<'archived' | 'everything' | 'for-you' | 'unread', (story: StoredStory) => boolean> = {
  archived: (story) => story.archive !== null,
  everything: (story) => story.archive === null,
  'for-you': (story) => story.archive === null && viewerRelevance(story) !== undefined,
  unread: (story) => story.archive === null && !story.isRead,
};

export const readStories: Pick<Handlers, 'stories' | 'story'> = {
  stories: ({ query, world }) => {
    const all = [...world.stories.values()].sort(
      (a, b) => b.createdAt - a.createdAt || (a.slug < b.slug ? -1 : 1),
    );
    const of = (bucket: keyof typeof buckets) => all.filter(buckets[bucket]);
    const read = all.filter((story) => story.isRead);
    return answer({
      archivedCount: of('archived').length,
      everythingCount: of('everything').length,
      forYouCount: of('for-you').length,
      unreadCount: of('unread').length,
      stories: of(query.bucket ?? 'everything')
        .slice(0, query.limit ?? defaultLimit)
        .map(storyItem),
      visitedThrough: iso(read[0]?.createdAt ?? world.now),
    });
  },

  story: ({ params, query, world }) => {
    const story = world.stories.get(params.slug);
    // `?includeArchived` and `?includeArchived=` count as true: the document allows the empty value.
    const includeArchived = query.includeArchived === 'true' || query.includeArchived === '';
    if (!story || (story.archive !== null && !includeArchived)) throw notFound('Story', params.slug);
    return answer({ story: storyOf(story) });
  },
};
