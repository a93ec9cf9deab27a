import { answer, type Handlers } from '../call.js';
import { notFound } from '../errors.js';
import { iso } from '../wire/lens.js';
import { storyItem, storyOf, viewerRelevance } from '../wire/stories.js';
import type { StoredStory } from '../world/types.js';

/** `GET /stories` without a `limit`; the document shows only its range. */
const defaultLimit = 50;

/** What a bucket holds. All but `archived` leave archived stories out. */
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
    // `?includeArchived` and `?includeArchived=` both ask for it: the document allows the empty value.
    const archivedToo = query.includeArchived === 'true' || query.includeArchived === '';
    if (!story || (story.archive !== null && !archivedToo)) throw notFound('Story', params.slug);
    return answer({ story: storyOf(story) });
  },
};
