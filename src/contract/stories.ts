import { z } from 'zod';
import { column } from './columns.js';
import { flag, id, integer, maybe, object, string, text, texts, when } from './fields.js';
import { storiesLimit } from './limits.js';
import { holding } from './privacy.js';
import { bySlug, type EmbeddedEntry, type ResourceEntry } from './resource-entry.js';
import type { TableEntry } from './table-entry.js';

export const storyBuckets = ['archived', 'everything', 'for-you', 'unread'] as const;

/** A layout is kept as it is: its element types beyond the four shown are not known. */
const layout = object({ elements: z.record(z.string(), z.unknown()), root: string('none') });

const storyArchive = object({
  archivedAt: column('archived_at', when).describe(
    'When it was archived (UTC). NULL when it is not archived.',
  ),
  reason: text('story_text').describe(
    'Why it was archived. NULL when it is not archived, or no reason was given.',
  ),
  actor: maybe(
    object({
      type: text('none').describe(
        'Who archived it: agent (the service itself) or member. NULL when it is not archived.',
      ),
      name: text('person_name').describe(
        'Name of the agent or member who archived it. NULL when it is not archived.',
      ),
      image: text('person_picture').describe(
        'Picture of the member who archived it. NULL when there is none.',
      ),
      userId: text('user_id').describe('User id of the member who archived it. NULL when there is none.'),
    }),
  ),
});

const sourceRef = object({
  type: text('none').describe(
    'Kind of the source: author, company, email, intercom, issue, message, person, slack or topic.',
  ),
  id: column('source_id', string('entity_id')).describe(
    'Id of the source; its type tells which table has it.',
  ),
  label: text('entity_name').describe('Name of the source in the story. NULL when it has none.'),
});

const draft = object({
  slug: holding('story_slug', z.string().min(1)).describe("The API's name of the story."),
  title: text('story_text').describe('Title.'),
  summary: text('story_text').describe('Summary.'),
  version: maybe(holding('none', z.union([z.number(), z.string()]))).describe(
    'Version of the draft, as the API gives it.',
  ),
  sourceRefs: maybe(z.array(sourceRef)),
  detail: maybe(
    object({
      title: text('story_text').describe("Title of the story's page."),
      main: maybe(layout).describe("Main part of the story's page: a layout of elements, as JSON."),
      sidebar: maybe(layout).describe("Sidebar of the story's page: a layout of elements, as JSON."),
    }),
  ),
  list: maybe(layout).describe('The story as it appears in a list: a layout of elements, as JSON.'),
});

/** How a story concerns a member of the organization. */
const relevanceTo = (
  of: Readonly<
    Record<'member' | 'kind' | 'label' | 'rationale' | 'authors' | 'user' | 'name' | 'image', string>
  >,
) =>
  object({
    memberId: id('user_id').describe(of.member),
    relevanceKind: text('none').describe(of.kind),
    relevanceLabel: text('story_note').describe(of.label),
    relevanceRationale: text('story_note').describe(of.rationale),
    linkedAuthorIds: texts('author_id').describe(of.authors),
    user: maybe(
      object({
        id: text('user_id').describe(of.user),
        name: text('person_name').describe(of.name),
        image: text('person_picture').describe(of.image),
      }),
    ),
  });

const relevance = relevanceTo({
  member: 'The member.',
  kind: 'How it concerns the member: action, awareness or ownership.',
  label: 'A short label for that. NULL when there is none.',
  rationale: 'Why it concerns the member.',
  authors: 'Authors (authors.id) that are this member.',
  user: 'The user behind this member.',
  name: 'Name of that user: a copy, which may lag until the next sweep.',
  image: 'Picture of that user: a copy, which may lag until the next sweep. NULL when there is none.',
});

const viewerRelevance = relevanceTo({
  member: 'Member of the organization that the viewer is. NULL when the story does not concern the viewer.',
  kind: 'How it concerns the viewer: action, awareness or ownership. NULL when it does not.',
  label: 'A short label for that. NULL when there is none.',
  rationale: 'Why it concerns the viewer. NULL when it does not.',
  authors: 'Authors (authors.id) that are the viewer. NULL when it does not concern the viewer.',
  user: 'The user behind the viewer. NULL when it does not concern the viewer.',
  name: 'Name of that user: a copy, which may lag until the next sweep.',
  image: 'Picture of that user: a copy, which may lag until the next sweep. NULL when there is none.',
});

const draftField = { draft: column('', draft) };
const storyState = {
  createdAt: when.describe('When the story was created (UTC).'),
  archive: column('archived', maybe(storyArchive)),
};

const storyListItem = object({
  ...draftField,
  isRead: flag.describe(
    "Whether the viewer (the user that the API assumes for the key) has read it. NULL when only the story's detail was fetched.",
  ),
  viewerRelevance: maybe(viewerRelevance),
  ...storyState,
});

const storyDetail = object({
  ...draftField,
  ...storyState,
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

/** How many stories the buckets hold: what an answer says in addition to its stories. */
export const storyEmbedded = {
  story_buckets: { item: null, parent: null },
} as const satisfies Record<string, EmbeddedEntry>;

export const storyTables = {
  stories: {
    comment:
      "One row per story that the service generated: the fields of the stories list and of the story's detail, combined. A list has at most 100 stories, so a story that is not listed is not marked as deleted.",
    key: ['slug'],
    documents: ['stories', 'story'],
    ids: { id: 'slug' },
    whole: ['draft', 'archive'],
    fields: [storyListItem],
  },
  story_sources: {
    comment: 'The sources of a story.',
    key: ['story_slug', 'position'],
    documents: ['stories', 'story'],
    ids: { id: 'story_slug' },
    whole: ['draft'],
    rows: 'draft.sourceRefs',
    fields: [sourceRef],
    mixed: {
      source_id: {
        by: 'type',
        rows: {
          topic: 'topic_id',
          company: 'company_id',
          person: 'person_id',
          author: 'author_id',
          message: 'message_id',
        },
        otherwise: 'account_id',
      },
      label: {
        by: 'type',
        rows: { topic: 'topic_title', company: 'company_name', person: 'person_name', author: 'person_name' },
        otherwise: 'document',
      },
    },
    columns: {
      story_slug: { kind: 'story_slug', comment: 'The story (stories.slug).' },
      position: {
        is: 'position',
        type: 'BIGINT',
        kind: 'none',
        comment: "Place in the story's list of sources, counting from 1.",
      },
    },
  },
  story_members: {
    comment: 'The members of the organization that a story concerns, and how.',
    key: ['story_slug', 'member_id'],
    documents: ['story'],
    ids: { id: 'story_slug' },
    rows: 'relevantMembers',
    repeated: 'first',
    fields: [relevance],
    columns: { story_slug: { kind: 'story_slug', comment: 'The story (stories.slug).' } },
  },
} as const satisfies Record<string, TableEntry>;
