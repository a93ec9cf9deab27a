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
import { presenceColumns, type TableEntry } from './table-entry.js';

const personConnections = object({
  github: text('person_contact').describe('GitHub account. NULL when unknown.'),
  linkedin: text('person_contact').describe('LinkedIn account. NULL when unknown.'),
  phone: text('person_contact').describe('Telephone number. NULL when unknown.'),
  title: text('person_job').describe('Job title. NULL when unknown.'),
  twitter: text('person_contact').describe('Twitter account. NULL when unknown.'),
  website: text('person_contact').describe('Website. NULL when unknown.'),
});

/**
 * `GET /people/{personId}`. The item of `GET /people` is not shown; it is read with the same schema, since each
 * field but the id may be absent here.
 */
export const person = object({
  id: id('person_id').describe("The API's id of the person."),
  displayName: text('person_name').describe('Name of the person.'),
  primaryEmail: text('person_email').describe('Main email address. NULL when unknown.'),
  description: text('person_about').describe('Who this is, in a sentence. NULL when unknown.'),
  avatarUrl: text('person_picture').describe('Picture. NULL when there is none.'),
  isVip: flag.describe('True for a person marked as VIP.'),
  company: maybe(
    object({
      id: text('company_id').describe("The person's company (companies.id). NULL when the person has none."),
      name: text('company_name').describe(
        'Name of that company: a copy, which may lag until the next sweep.',
      ),
      domain: text('company_domain').describe(
        'Domain of that company: a copy, which may lag until the next sweep.',
      ),
      logoUrl: text('company_logo').describe(
        'Logo of that company: a copy, which may lag until the next sweep.',
      ),
      employees: maybe(z.array(employee)),
    }),
  ),
  connections: maybe(personConnections),
  ecosystemTags: texts('person_tags').describe('Tags of the ecosystems that the person is active in.'),
  expertiseTags: texts('person_tags').describe('Tags of what the person knows about.'),
  sources: texts('none').describe('Source systems in which the person was seen.'),
  identityCount: integer.describe("Number of the person's identities, as the service counts them."),
  conversationCount: integer.describe("Number of the person's conversations, as the service counts them."),
  messageCount: integer.describe("Number of the person's messages, as the service counts them."),
  avgMessagesPerWeek: activity.describe('Messages per week on average, as the service computes it.'),
  weeklyActivity: activities.describe(
    'Activity by week as the service gives it. Which weeks these are is not documented: for activity by week see messages.',
  ),
  firstSeenAt: seen.describe('When the person was first seen (UTC).'),
  lastSeenAt: seen.describe('When the person was last seen (UTC).'),
  createdAt: seen.describe('When the person was created in the service (UTC).'),
});

/** `GET /people/{personId}/identities`: not shown; assumed to be like a company's External identity. */
const identity = object({
  platform: string('none').describe('Source system, e.g. slack (authors.source_name).'),
  platformId: string('account_id').describe(
    'Id of the account in the source system (authors.source_author_id).',
  ),
  id: text('author_id').describe(
    "The API's id of the identity. NULL when only a topic's list of people names it.",
  ),
  platformUsername: text('account_name').describe('Name of the account. NULL when unknown.'),
});

/** `GET /people/{personId}/source-stats`: not shown; assumed to be like `sourceStats` of a company's activity. */
const sourceStat = object({
  source: string('none').describe('Source system, e.g. slack.'),
  messageCount: integer.describe('Number of messages.'),
});

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

export const peopleTables = {
  people: {
    comment:
      "One row per person, with figures for all of the person's identities: the fields of the people list and of the person's detail, combined. Deleted people keep their row (deleted_at).",
    key: ['id'],
    documents: ['people', 'person'],
    ids: { id: 'id' },
    whole: ['company'],
    versions: { table: 'people_versions', key: 'person_id' },
    fields: [person],
    columns: presenceColumns(
      { presence: 'person_presence', kind: 'person_id' },
      {
        deletedAt:
          'When the sync found that the API no longer has the person (UTC). NULL while the person exists.',
        deletedReason:
          'Why the person was deleted, e.g. a merge. NULL while the person exists, or when no reason is known.',
        mergedIntoId: 'Id of the person that this one was merged into. NULL when not merged.',
        detailUnavailableReason:
          "Why the person's detail cannot be fetched although the person is listed. NULL when it can.",
      },
    ),
  },
  person_identities: {
    comment:
      "The accounts of a person in source systems: from the person's list of identities, and from lists of a topic's people that were fetched later.",
    key: ['person_id', 'platform', 'platform_id'],
    derived: ['raw.documents', 'ops.coverage'],
    fields: [identity],
    columns: { person_id: { kind: 'person_id', comment: 'The person (people.id).' } },
  },
  person_source_stats: {
    comment: 'Messages of a person by source system, as the service counts them.',
    key: ['person_id', 'source'],
    documents: ['person_source_stats'],
    ids: { parent_id: 'person_id', id: 'source' },
    fields: [sourceStat],
    columns: { person_id: { kind: 'person_id', comment: 'The person (people.id).' } },
  },
} as const satisfies Record<string, TableEntry>;
