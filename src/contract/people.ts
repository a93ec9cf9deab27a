import { z } from 'zod';
import { employee } from './companies.js';
import {
  activities,
  activity,
  digits,
  flag,
  id,
  integer,
  maybe,
  object,
  seen,
  string,
  text,
  texts,
} from './fields.js';
import { actors, historyAnswer, historyQuery, historyRecord } from './history.js';
import { personHistoryLimit } from './limits.js';
import { entityGroup, groupsEndpoint } from './messages.js';
import { byPerson, type EmbeddedEntry, paging, type ResourceEntry } from './resource-entry.js';

const personConnections = object({
  github: text('person_contact'),
  linkedin: text('person_contact'),
  phone: text('person_contact'),
  title: text('person_job'),
  twitter: text('person_contact'),
  website: text('person_contact'),
});

/**
 * `GET /people/{personId}`. The item of `GET /people` is not shown; it is read with the same schema, since each
 * field but the id may be absent here.
 */
export const person = object({
  id: id('person_id'),
  avatarUrl: text('person_picture'),
  avgMessagesPerWeek: activity,
  company: maybe(
    object({
      id: text('company_id'),
      domain: text('company_domain'),
      logoUrl: text('company_logo'),
      name: text('company_name'),
      employees: maybe(z.array(employee)),
    }),
  ),
  connections: maybe(personConnections),
  conversationCount: integer,
  createdAt: seen,
  description: text('person_about'),
  displayName: text('person_name'),
  ecosystemTags: texts('person_tags'),
  expertiseTags: texts('person_tags'),
  firstSeenAt: seen,
  identityCount: integer,
  isVip: flag,
  lastSeenAt: seen,
  messageCount: integer,
  primaryEmail: text('person_email'),
  sources: texts('none'),
  weeklyActivity: activities,
});

/** `GET /people/{personId}/identities`: not shown; assumed to be like a company's External identity. */
const identity = object({
  id: text('author_id'),
  platform: string('none'),
  platformId: string('account_id'),
  platformUsername: text('account_name'),
});

/** `GET /people/{personId}/source-stats`: not shown; assumed to be like `sourceStats` of a company's activity. */
const sourceStat = object({ source: string('none'), messageCount: integer });

/** One item of `POST /people`; which fields are required is not shown. */
const newPerson = object({
  avatarUrl: z.string().optional(),
  connections: personConnections.optional(),
  description: z.string().optional(),
  displayName: z.string().optional(),
  isVip: z.boolean().optional(),
  primaryEmail: z.string().optional(),
});

/** The body of `PATCH /people/{personId}`: not shown; assumed to take the fields of a new person. */
export const personChange = newPerson;

export const createPeople = z.object({ people: z.array(newPerson).min(1) });
export const createdPeople = object({
  results: z.array(
    object({
      success: z.boolean(),
      displayName: text('person_name'),
      data: maybe(person),
      error: text('worker_note'),
    }),
  ),
});

export const mergePeople = z.object({
  sourcePersonIds: z.array(id('person_id')).min(1),
  targetPersonId: id('person_id'),
});
export const mergedPeople = object({ mergedCount: z.number() });

const activityFields = ['$.messageCount', '$.lastSeenAt', '$.conversationCount'] as const;
const stateFields = [
  '$.displayName',
  '$.isVip',
  '$.primaryEmail',
  '$.description',
  '$.company.id',
  '$.identityCount',
] as const;

export const peopleResources = {
  people: {
    parent: null,
    endpoint: {
      path: '/people',
      summary: 'People',
      query: paging,
      response: z.unknown(),
      documented: false,
    },
    item: person,
    key: ['id'],
    embeds: 'company',
    reads: 'pages',
    detail: 'person',
    presence: 'person_presence',
  },
  person: {
    parent: 'people',
    endpoint: { path: '/people/{personId}', summary: 'One person', params: byPerson, response: person },
    item: person,
    optionalFields: [],
    answer: { form: 'object', embeds: 'company' },
    weight: 40,
    maxAgeDays: 45,
    changeFields: [...activityFields, ...stateFields],
    skippedWhenListHas: Object.keys(person.shape),
    removedWithParent: false,
  },
  person_groups: {
    parent: 'people',
    endpoint: groupsEndpoint,
    endpointName: 'groups',
    parentParameter: 'personId',
    item: entityGroup,
    answer: { form: 'conversations', names: ['data', 'groups'] },
    paged: true,
    counters: {
      messages: '$.messageCount',
      lastMessageAt: '$.lastSeenAt',
      conversations: '$.conversationCount',
    },
    counts: '$.conversationCount',
    weight: 80,
    maxAgeDays: 30,
    changeFields: activityFields,
    removedWithParent: true,
  },
  person_identities: {
    parent: 'people',
    endpoint: {
      path: '/people/{personId}/identities',
      summary: 'The identities of a person',
      params: byPerson,
      response: object({ identities: z.array(identity) }),
      documented: false,
    },
    item: identity,
    answer: { form: 'members', names: ['identities', 'data'], key: ['platform', 'platformId'] },
    counts: '$.identityCount',
    weight: 90,
    maxAgeDays: 60,
    changeFields: ['$.identityCount', '$.sources'],
    removedWithParent: true,
  },
  person_source_stats: {
    parent: 'people',
    endpoint: {
      path: '/people/{personId}/source-stats',
      summary: 'The messages of a person by source',
      params: byPerson,
      response: object({ sourceStats: z.array(sourceStat) }),
      documented: false,
    },
    item: sourceStat,
    answer: { form: 'members', names: ['sourceStats', 'stats', 'data'], key: ['source'] },
    existsWith: '$.messageCount',
    weight: 130,
    maxAgeDays: 60,
    changeFields: ['$.messageCount', '$.sources', '$.lastSeenAt', '$.identityCount'],
    removedWithParent: true,
  },
  person_history: {
    parent: 'people',
    endpoint: {
      path: '/people/{personId}/history',
      summary: 'The history of a person',
      params: z.object({ personId: digits }),
      query: historyQuery,
      response: historyAnswer,
    },
    // The default leaves out what the system did, and shows 20 records.
    extraQuery: { limit: personHistoryLimit, changedByFilter: actors },
    dividedBy: { parameter: 'changedByFilter', values: actors },
    item: historyRecord,
    optionalFields: [],
    answer: {
      form: 'history',
      under: 'person',
      names: ['history', 'data'],
      merges: {
        kind: 'person_merges',
        sources: '$.sourcePersons[*].id',
        target: '$.mergedInto.targetPerson.id',
        alike: ['$.displayName', '$.primaryEmail', '$.company.id'],
      },
    },
    weight: 140,
    maxAgeDays: 60,
    changeFields: stateFields,
    digitsOnly: true,
    removedWithParent: false,
  },
} as const satisfies Record<string, ResourceEntry>;

/** A person's company, as the last answer that has the field says: its number says since when. */
export const peopleEmbedded = {
  person_companies: { item: null, parent: 'people', membersOf: 'companies' },
} as const satisfies Record<string, EmbeddedEntry>;
