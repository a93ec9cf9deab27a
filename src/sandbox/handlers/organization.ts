import { channelCounts } from '../world/counts.js';
import { getOrThrow, UnknownEntityError } from '../world/history.js';
import type { StoredChannel, StoredStory } from '../world/types.js';
import type { Handlers } from './call.js';
import { listAnswer } from './lists.js';
import { iso, type Renderer } from './renderer.js';

/** `GET /stories` without a `limit`; the document shows only its range. */
const defaultLimit = 50;

/** The stories of each bucket. Only `archived` contains archived stories. */
const buckets: Record<'archived' | 'everything' | 'for-you' | 'unread', (story: StoredStory) => boolean> = {
  archived: (story) => story.archive !== null,
  everything: (story) => story.archive === null,
  'for-you': (story) => story.archive === null && viewerRelevance(story) !== undefined,
  unread: (story) => story.archive === null && !story.isRead,
};

/** The organization itself, its channels, automation templates and stories. */
export const organizationHandlers = {
  whoami: ({ world }) => JSON.stringify({ organization: world.organization }),

  channels: (call) =>
    listAnswer(call, 'channels', [...call.world.channels.values()], (channel) =>
      JSON.stringify(channelOf(call.renderer, channel)),
    ),

  channel: ({ renderer, params, world }) =>
    JSON.stringify(channelOf(renderer, getOrThrow(world.channels, 'channel', params.channelId))),

  automation_templates: (call) =>
    listAnswer(call, 'templates', [...call.world.templates.values()], (template) => JSON.stringify(template)),

  automation_template: ({ params, world }) =>
    JSON.stringify(getOrThrow(world.templates, 'automation template', params.slug)),

  stories: ({ query, world }) => {
    const all = [...world.stories.values()].sort(
      (a, b) => b.createdAt - a.createdAt || (a.slug < b.slug ? -1 : 1),
    );
    const of = (bucket: keyof typeof buckets) => all.filter(buckets[bucket]);
    const lastRead = all.find((story) => story.isRead);
    return JSON.stringify({
      archivedCount: of('archived').length,
      everythingCount: of('everything').length,
      forYouCount: of('for-you').length,
      unreadCount: of('unread').length,
      stories: of(query.bucket ?? 'everything')
        .slice(0, query.limit ?? defaultLimit)
        .map(storyItem),
      visitedThrough: iso(lastRead?.createdAt ?? world.now),
    });
  },

  story: ({ params, query, world }) => {
    const story = world.stories.get(params.slug);
    // `?includeArchived` and `?includeArchived=` count as true: the document allows the empty value.
    const includeArchived = query.includeArchived === 'true' || query.includeArchived === '';
    if (!story || (story.archive !== null && !includeArchived))
      throw new UnknownEntityError('story', params.slug);
    return JSON.stringify({ story: storyOf(story) });
  },
} satisfies Partial<Handlers>;

/** Channel; `description` is absent when there is none. */
export function channelOf(renderer: Renderer, { description, ...channel }: StoredChannel) {
  const { lastSeenAt, messageCount } = channelCounts(renderer.world, channel.id);
  return {
    ...channel,
    ...(description === null ? {} : { description }),
    createdAt: iso(channel.createdAt),
    updatedAt: iso(channel.updatedAt),
    lastSeenAt: iso(lastSeenAt),
    messageCount,
  };
}

/** The fields that a story of the list and a single story share. */
function core(story: StoredStory) {
  const { archive } = story;
  return {
    archive: archive
      ? { actor: archive.actor, archivedAt: iso(archive.archivedAt), reason: archive.reason }
      : null,
    createdAt: iso(story.createdAt),
    draft: story.draft,
  };
}

/** A story of `GET /stories`. */
export function storyItem(story: StoredStory) {
  return { ...core(story), isRead: story.isRead, viewerRelevance: viewerRelevance(story) ?? null };
}

/** The story of `GET /stories/{slug}`. */
export function storyOf(story: StoredStory) {
  return { ...core(story), relevantMembers: story.relevantMembers };
}

/** Why the story is relevant to the member that the API key stands for; undefined when it is not. */
function viewerRelevance(story: StoredStory): Record<string, unknown> | undefined {
  if (story.viewerMemberId === null) return undefined;
  return story.relevantMembers.find((relevance) => relevance.memberId === story.viewerMemberId);
}
