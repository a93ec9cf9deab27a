import { z } from 'zod';
import { flag, id, integer, maybe, object, string, text, texts, when } from './fields.js';
import { storiesLimit } from './limits.js';
import { holding } from './privacy.js';
import { bySlug, type EmbeddedEntry, type ResourceEntry } from './resource-entry.js';

export const storyBuckets = ['archived', 'everything', 'for-you', 'unread'] as const;

/** A layout is kept as it is: its element types beyond the four shown are not known. */
const layout = object({ elements: z.record(z.string(), z.unknown()), root: string('none') });

const storyArchive = object({
  actor: maybe(
    object({
      type: text('none'),
      name: text('person_name'),
      image: text('person_picture'),
      userId: text('user_id'),
    }),
  ),
  archivedAt: when,
  reason: text('story_text'),
});

const sourceRef = object({ id: string('entity_id'), label: text('entity_name'), type: text('none') });

const draft = object({
  slug: holding('story_slug', z.string().min(1)),
  title: text('story_text'),
  summary: text('story_text'),
  version: maybe(holding('none', z.union([z.number(), z.string()]))),
  sourceRefs: maybe(z.array(sourceRef)),
  detail: maybe(object({ main: maybe(layout), sidebar: maybe(layout), title: text('story_text') })),
  list: maybe(layout),
});

/** A member of the organization. */
const member = object({
  id: text('user_id'),
  image: text('person_picture'),
  name: text('person_name'),
});

/** How a story concerns a member of the organization. */
const relevance = object({
  memberId: id('user_id'),
  linkedAuthorIds: texts('author_id'),
  relevanceKind: text('none'),
  relevanceLabel: text('story_note'),
  relevanceRationale: text('story_note'),
  user: maybe(member),
});

const storyFields = { archive: maybe(storyArchive), createdAt: when, draft };

const storyListItem = object({
  ...storyFields,
  isRead: flag,
  viewerRelevance: maybe(relevance),
});

const storyDetail = object({
  ...storyFields,
  relevantMembers: maybe(z.array(relevance)),
});

const storiesAnswer = object({
  stories: z.array(storyListItem),
  archivedCount: integer,
  everythingCount: integer,
  forYouCount: integer,
  unreadCount: integer,
  visitedThrough: when,
});

export const storyResources = {
  stories: {
    parent: null,
    endpoint: {
      path: '/stories',
      summary: 'Stories of a bucket',
      query: z.object({
        bucket: z.enum(storyBuckets).optional(),
        limit: z.coerce.number().int().min(1).max(storiesLimit).optional(),
      }),
      response: storiesAnswer,
    },
    item: storyListItem,
    key: ['draft.slug'],
    reads: 'buckets',
    detail: 'story',
    presence: null,
  },
  story: {
    parent: 'stories',
    endpoint: {
      path: '/stories/{slug}',
      summary: 'One story',
      params: bySlug,
      query: z.object({ includeArchived: z.enum(['true', 'false', '']).optional() }),
      response: object({ story: storyDetail }),
    },
    // Without it an archived story may not be answered.
    extraQuery: { includeArchived: 'true' },
    item: storyDetail,
    answer: { form: 'object' },
    weight: 160,
    maxAgeDays: 30,
    changeFields: ['$.draft.version', '$.draft.title', '$.archive.archivedAt'],
    removedWithParent: false,
  },
} as const satisfies Record<string, ResourceEntry>;

/** How many stories the buckets hold: what an answer says besides its stories. */
export const storyEmbedded = {
  story_buckets: { item: null, parent: null },
} as const satisfies Record<string, EmbeddedEntry>;
