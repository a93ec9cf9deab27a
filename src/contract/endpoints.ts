import { z } from 'zod';
import { automation, createAutomation } from './automations.js';
import {
  changeCompanies,
  changedCompanies,
  company,
  companyActivity,
  companyIdentity,
  companyListItem,
  createCompanies,
} from './companies.js';
import { digits, id } from './fields.js';
import { actors, historyAnswer } from './history.js';
import { entityGroup, topicGroup } from './messages.js';
import {
  createdPeople,
  createPeople,
  identity,
  mergedPeople,
  mergePeople,
  person,
  personChange,
  sourceStat,
} from './people.js';
import { channel, listed, paged, whoamiAnswer } from './service.js';
import { automationTemplate, storiesAnswer, storyBuckets, storyDetail } from './stories.js';
import { topic, topicChange, topicListItem, topicPerson } from './topics.js';

/** One endpoint of the service, as data. `shown: false` where the document leaves its form open. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Relative to the base URL; `{name}` stands for a parameter of `params`. */
  readonly path: string;
  readonly summary: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly response: z.ZodType;
  readonly shown: boolean;
}

const none = z.object({});
const byTopic = z.object({ topicId: id });
const byCompany = z.object({ companyId: id });
const byPerson = z.object({ personId: id });
const bySlug = z.object({ slug: z.string().min(1) });
const paging = z.object({
  page: z.coerce.number().int().min(0).optional(),
  limit: z.coerce.number().int().min(1).optional(),
});
const unknownBody = z.record(z.string(), z.unknown());
const historyQuery = z.object({
  changedByFilter: z
    .preprocess((value) => (typeof value === 'string' ? value.split(',') : value), z.array(z.enum(actors)))
    .optional(),
  limit: z.coerce.number().int().min(1).max(50).optional(),
});

/** Every endpoint that the document names. The name is used in tables, messages, metrics and `--only`. */
export const endpoints = {
  whoami: get('/whoami', 'The organization behind the key', whoamiAnswer),

  topics: get('/topics', 'Topics, paged', paged(topicListItem), {
    query: paging.extend({ embeddingSearch: z.string().optional(), search: z.string().optional() }),
  }),
  topic: get('/topics/{topicId}', 'One topic', topic, { params: byTopic }),
  topic_groups: get('/topics/{topicId}/groups', 'The conversations of a topic', listed(topicGroup), {
    params: byTopic,
    query: z.object({ order: z.enum(['asc', 'desc']).optional() }),
  }),
  topic_people: get('/topics/{topicId}/people', 'The people in a topic', listed(topicPerson), {
    params: byTopic,
  }),
  topic_history: get('/topics/{topicId}/history', 'The history of a topic', historyAnswer, {
    params: byTopic,
  }),
  update_topic: write('PATCH', '/topics/{topicId}', 'Change one topic', topicChange, topic, {
    params: byTopic,
  }),
  update_topics: hidden('PATCH', '/topics/bulk', 'Change topics'),
  merge_topics: hidden('POST', '/topics/merge', 'Merge topics'),
  archive_topic: hidden('POST', '/topics/{topicId}/archive', 'Archive one topic', byTopic),

  companies: get('/companies', 'Companies, paged', paged(companyListItem), { query: paging }),
  company: get('/companies/{companyId}', 'One company', company, { params: byCompany }),
  company_activity: get('/companies/{companyId}/activity', 'The activity of a company', companyActivity, {
    params: byCompany,
  }),
  company_history: get('/companies/{companyId}/history', 'The history of a company', historyAnswer, {
    params: byCompany,
  }),
  company_identities: get(
    '/companies/{companyId}/identities',
    'The external identities of a company',
    z.looseObject({ identities: z.array(companyIdentity) }),
    { params: z.object({ companyId: digits }) },
  ),
  create_companies: hidden('POST', '/companies', 'Create companies', none, createCompanies),
  update_companies: write('PATCH', '/companies/bulk', 'Change companies', changeCompanies, changedCompanies),
  merge_companies: hidden('POST', '/companies/merge', 'Merge companies'),
  update_company: hidden('PATCH', '/companies/{companyId}', 'Change one company', byCompany),
  add_company_people: hidden('POST', '/companies/{companyId}/people', 'Add people to a company', byCompany),

  groups: get('/groups', 'The conversations of one company or one person, paged', paged(entityGroup), {
    query: paging.extend({ companyId: id.optional(), personId: id.optional() }),
  }),

  people: get('/people', 'People', z.unknown(), { query: paging, shown: false }),
  person: get('/people/{personId}', 'One person', person, { params: byPerson }),
  person_history: get('/people/{personId}/history', 'The history of a person', historyAnswer, {
    params: z.object({ personId: digits }),
    query: historyQuery,
  }),
  person_identities: get(
    '/people/{personId}/identities',
    'The identities of a person',
    z.looseObject({ identities: z.array(identity) }),
    { params: byPerson, shown: false },
  ),
  person_source_stats: get(
    '/people/{personId}/source-stats',
    'The messages of a person by source',
    z.looseObject({ sourceStats: z.array(sourceStat) }),
    { params: byPerson, shown: false },
  ),
  create_people: write('POST', '/people', 'Create people', createPeople, createdPeople),
  update_people: hidden('PATCH', '/people/bulk', 'Change people'),
  merge_people: write('POST', '/people/merge', 'Merge people', mergePeople, mergedPeople),
  update_person: hidden('PATCH', '/people/{personId}', 'Change one person', byPerson, personChange),
  identify: hidden('POST', '/identify', 'Link external records to people and companies'),

  channels: get('/channels', 'Channels', z.unknown(), { query: paging, shown: false }),
  channel: get('/channels/{channelId}', 'One channel', channel, { params: z.object({ channelId: id }) }),

  stories: get('/stories', 'Stories of a bucket', storiesAnswer, {
    query: z.object({
      bucket: z.enum(storyBuckets).optional(),
      limit: z.coerce.number().int().min(1).max(100).optional(),
    }),
  }),
  story: get('/stories/{slug}', 'One story', z.looseObject({ story: storyDetail }), {
    params: bySlug,
    query: z.object({ includeArchived: z.enum(['true', 'false', '']).optional() }),
  }),

  automation_templates: get('/automation-templates', 'Automation templates', z.unknown(), {
    query: paging,
    shown: false,
  }),
  automation_template: get('/automation-templates/{slug}', 'One automation template', automationTemplate, {
    params: bySlug,
    shown: false,
  }),
  create_automation: write('POST', '/automations', 'Create an automation', createAutomation, automation),
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof endpoints;

function get<R extends z.ZodType, X extends object>(path: string, summary: string, response: R, more?: X) {
  // A boolean, not `true`: an intersection with `shown: false` would be never, and take the other parts' types along.
  return { method: 'GET', path, summary, response, shown: true as boolean, ...(more as X) } as const;
}

function write<B extends z.ZodType, R extends z.ZodType, X extends object>(
  method: 'POST' | 'PATCH',
  path: string,
  summary: string,
  body: B,
  response: R,
  more?: X,
) {
  return { method, path, summary, body, response, shown: true, ...(more as X) } as const;
}

/** An endpoint whose payload or answer the document does not show. */
function hidden<P extends z.ZodObject = typeof none, B extends z.ZodType = typeof unknownBody>(
  method: 'POST' | 'PATCH',
  path: string,
  summary: string,
  params?: P,
  body?: B,
) {
  return {
    method,
    path,
    summary,
    params: (params ?? none) as P,
    body: (body ?? unknownBody) as B,
    response: z.unknown(),
    shown: false,
  } as const;
}

/** The types of an endpoint's parts, for callers that name it. */
export type ParamsOf<N extends EndpointName> = Part<N, 'params'>;
export type QueryOf<N extends EndpointName> = Partial<Part<N, 'query'>>;
export type BodyOf<N extends EndpointName> = Part<N, 'body'>;
export type AnswerOf<N extends EndpointName> = z.infer<(typeof endpoints)[N]['response']>;

type Part<N extends EndpointName, K extends string> =
  (typeof endpoints)[N] extends Record<K, infer S>
    ? S extends z.ZodType
      ? z.infer<S>
      : Record<never, never>
    : Record<never, never>;
