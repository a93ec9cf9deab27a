import { z } from 'zod';
import { flag, freeForm, id, integer, maybe, text, texts, when } from './fields.js';

export const storyBuckets = ['archived', 'everything', 'for-you', 'unread'] as const;

/** A layout is kept as it is: its element types beyond the four shown are not known. */
export const layout = z.looseObject({ elements: z.record(z.string(), z.unknown()), root: z.string() });

export const storyArchive = z.looseObject({
  actor: maybe(z.looseObject({ type: text, name: text, image: text, userId: text })),
  archivedAt: when,
  reason: text,
});

export const sourceRef = z.looseObject({ id: z.string(), label: text, type: text });

export const draft = z.looseObject({
  slug: z.string().min(1),
  title: text,
  summary: text,
  version: maybe(z.union([z.number(), z.string()])),
  sourceRefs: maybe(z.array(sourceRef)),
  detail: maybe(z.looseObject({ main: maybe(layout), sidebar: maybe(layout), title: text })),
  list: maybe(layout),
});

/** How a story concerns a member of the organization. */
export const relevance = z.looseObject({
  memberId: id,
  linkedAuthorIds: texts,
  relevanceKind: text,
  relevanceLabel: text,
  relevanceRationale: text,
  user: maybe(z.looseObject({ id: text, image: text, name: text })),
});

const storyFields = { archive: maybe(storyArchive), createdAt: when, draft };

export const storyListItem = z.looseObject({
  ...storyFields,
  isRead: flag,
  viewerRelevance: maybe(relevance),
});

export const storyDetail = z.looseObject({
  ...storyFields,
  relevantMembers: maybe(z.array(relevance)),
});

export const storiesAnswer = z.looseObject({
  stories: z.array(storyListItem),
  archivedCount: integer,
  everythingCount: integer,
  forYouCount: integer,
  unreadCount: integer,
  visitedThrough: when,
});

/** `GET /automation-templates`: not shown. Only the slug, which the path of the single template names, is needed. */
export const automationTemplate = z.looseObject({
  slug: z.string().min(1),
  name: text,
  description: text,
  prompt: text,
  schedule: freeForm,
  timezone: text,
  modelLevel: text,
  capabilityMode: text,
  allowedCapabilities: texts,
  createdAt: when,
  updatedAt: when,
});
