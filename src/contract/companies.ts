import { z } from 'zod';
import { activities, digits, flag, id, integer, maybe, object, seen, string, text } from './fields.js';
import { historyAnswer, historyRecord } from './history.js';
import { entityGroup, groupsEndpoint } from './messages.js';
import { byCompany, type EmbeddedEntry, paged, paging, type ResourceEntry } from './resource-entry.js';
import { presenceColumns, type TableEntry } from './table-entry.js';

const companyConnections = object({
  email: text('company_contact').describe('Email address. NULL when unknown.'),
  github: text('company_contact').describe('GitHub account. NULL when unknown.'),
  linkedin: text('company_contact').describe('LinkedIn account. NULL when unknown.'),
  phone: text('company_contact').describe('Telephone number. NULL when unknown.'),
  twitter: text('company_contact').describe('Twitter account. NULL when unknown.'),
});

/** `GET /companies/{companyId}`. */
export const company = object({
  id: id('company_id').describe("The API's id of the company."),
  name: text('company_name').describe('Name of the company.'),
  primaryDomain: text('company_domain').describe('Main domain. NULL when unknown.'),
  logoUrl: text('company_logo').describe('Address of the logo. NULL when there is none.'),
  isOrgCompany: flag.describe('True for our own company: its people are staff.'),
  isVip: flag.describe('True for a company marked as VIP.'),
  connections: maybe(companyConnections),
  createdAt: seen.describe(
    'When the company was created in the service (UTC). NULL until its detail is fetched.',
  ),
});

/** An employee, as a person's company lists them. */
export const employee = object({
  id: id('person_id'),
  name: text('person_name'),
  avatarUrl: text('person_picture'),
});

/** One item of `GET /companies`. */
const companyListItem = object({
  id: id('company_id'),
  name: text('company_name'),
  primaryDomain: text('company_domain'),
  logoUrl: text('company_logo'),
  isOrgCompany: flag,
  isVip: flag,
  personCount: integer.describe('Number of people, as the service counts them.'),
  messageCount: integer.describe(
    'Number of messages of its people, as the service counts them (companies list or activity, whichever is newer).',
  ),
  lastSeenAt: seen.describe('When one of its people was last seen (UTC).'),
});

const sourceStat = object({
  source: string('none').describe('Source system, e.g. slack.'),
  messageCount: integer.describe('Number of messages; the sum, if the API names the same source twice.'),
});

/** `GET /companies/{companyId}/activity`. */
const companyActivity = object({
  messageCount: integer,
  weeklyActivity: activities.describe(
    'Activity by week as the service gives it. Which weeks these are is not documented: for activity by week see messages.',
  ),
  sourceStats: maybe(z.array(sourceStat)),
});

/** External identity: `GET /companies/{companyId}/identities`. */
const companyIdentity = object({
  platform: string('none').describe('External system, named like a source system.'),
  platformId: string('account_id').describe('Id of the record in that system.'),
  id: text('author_id').describe("The API's id of the identity."),
  platformUsername: text('account_name').describe('Name of the account in that system. NULL when unknown.'),
});

/** One item of `PATCH /companies/bulk`; which fields are required is not shown; only the id is needed. */
const companyChange = z.object({
  companyId: id('company_id'),
  name: z.string().optional(),
  logoUrl: z.string().optional(),
  isVip: z.boolean().optional(),
  primaryDomain: z.string().optional(),
  connections: companyConnections.optional(),
});

export const changeCompanies = z.object({ companies: z.array(companyChange).min(1) });
export const changedCompanies = object({
  results: z.array(
    object({
      companyId: id('company_id'),
      success: z.boolean(),
      data: maybe(company),
      error: text('worker_note'),
    }),
  ),
});

/** The body of `POST /companies`; fields beyond name and domain are not shown. */
export const createCompanies = z.object({
  companies: z.array(object({ name: z.string().optional(), domain: z.string().optional() })).min(1),
});

const activityFields = ['$.messageCount', '$.lastSeenAt'] as const;
const stateFields = ['$.name', '$.isVip', '$.isOrgCompany', '$.primaryDomain'] as const;

export const companyResources = {
  companies: {
    parent: null,
    endpoint: {
      path: '/companies',
      summary: 'Companies, paged',
      query: paging,
      response: paged(companyListItem),
    },
    item: companyListItem,
    optionalFields: [],
    key: ['id'],
    reads: 'pages',
    detail: 'company',
    presence: 'company_presence',
  },
  company: {
    parent: 'companies',
    endpoint: {
      path: '/companies/{companyId}',
      summary: 'One company',
      params: byCompany,
      response: company,
    },
    item: company,
    optionalFields: [],
    answer: { form: 'object' },
    weight: 30,
    maxAgeDays: 30,
    changeFields: stateFields,
    removedWithParent: false,
  },
  company_activity: {
    parent: 'companies',
    endpoint: {
      path: '/companies/{companyId}/activity',
      summary: 'The activity of a company',
      params: byCompany,
      response: companyActivity,
    },
    item: companyActivity,
    optionalFields: [],
    answer: { form: 'object' },
    existsWith: '$.messageCount',
    membersIn: 'sourceStats',
    weight: 60,
    maxAgeDays: 30,
    changeFields: activityFields,
    members: { list: 'people', fields: activityFields },
    removedWithParent: true,
  },
  company_groups: {
    parent: 'companies',
    endpoint: groupsEndpoint,
    endpointName: 'groups',
    parentParameter: 'companyId',
    item: entityGroup,
    answer: { form: 'conversations', names: ['data', 'groups'] },
    paged: true,
    counters: { messages: '$.messageCount', lastMessageAt: '$.lastSeenAt' },
    existsWith: '$.messageCount',
    weight: 70,
    maxAgeDays: 14,
    changeFields: [...activityFields, '$.personCount'],
    removedWithParent: true,
  },
  company_identities: {
    parent: 'companies',
    endpoint: {
      path: '/companies/{companyId}/identities',
      summary: 'The external identities of a company',
      params: z.object({ companyId: digits }),
      response: object({ identities: z.array(companyIdentity) }),
    },
    item: companyIdentity,
    answer: { form: 'members', names: ['identities', 'data'], key: ['platform', 'platformId'] },
    weight: 100,
    maxAgeDays: 30,
    changeFields: ['$.personCount', '$.primaryDomain'],
    digitsOnly: true,
    removedWithParent: true,
  },
  company_history: {
    parent: 'companies',
    endpoint: {
      path: '/companies/{companyId}/history',
      summary: 'The history of a company',
      params: byCompany,
      response: historyAnswer,
    },
    item: historyRecord,
    optionalFields: [],
    answer: {
      form: 'history',
      under: 'company',
      names: ['history', 'data'],
      merges: {
        kind: 'company_merges',
        sources: '$.sourceCompanies[*].id',
        target: '$.mergedInto.targetCompany.id',
        alike: ['$.name', '$.primaryDomain'],
      },
    },
    weight: 120,
    maxAgeDays: 30,
    changeFields: [...stateFields, '$.personCount'],
    removedWithParent: false,
  },
} as const satisfies Record<string, ResourceEntry>;

/** The employees that a person's company lists. */
export const companyEmbedded = {
  company_employees: { item: employee, parent: 'companies', membersOf: 'people' },
} as const satisfies Record<string, EmbeddedEntry>;

export const companyTables = {
  companies: {
    comment:
      "One row per company: the fields of the companies list, of the company's detail and of its activity, combined. Deleted companies keep their row (deleted_at).",
    key: ['id'],
    documents: ['companies', 'company', 'company_activity'],
    ids: { id: 'id' },
    versions: { table: 'company_versions', key: 'company_id' },
    fields: [companyListItem, company, companyActivity],
    columns: presenceColumns(
      { presence: 'company_presence', kind: 'company_id' },
      {
        deletedAt: 'When the sync found that the API no longer has it (UTC). NULL while it exists.',
        deletedReason: 'Why it was deleted, e.g. a merge. NULL while it exists, or when no reason is known.',
        mergedIntoId: 'Id of the company that it was merged into. NULL when it was not merged.',
        detailUnavailableReason: 'Why its detail cannot be fetched although it is listed. NULL when it can.',
      },
    ),
  },
  company_employees: {
    comment:
      'The people of a company: those whose own record names it and, of people who are in no list, those whom their colleagues name.',
    key: ['company_id', 'person_id'],
    derived: ['raw.documents', 'people', 'companies'],
    columns: {
      company_id: { kind: 'company_id', comment: 'The company (companies.id).' },
      person_id: { kind: 'person_id', comment: 'The person (people.id).' },
      name: { kind: 'person_name', comment: 'Name of the person.' },
      avatar_url: { kind: 'person_picture', comment: 'Picture of the person. NULL when there is none.' },
    },
  },
  company_identities: {
    comment: "The company's records in external systems, linked to it by identify.",
    key: ['company_id', 'platform', 'platform_id'],
    documents: ['company_identities'],
    ids: { parent_id: 'company_id' },
    fields: [companyIdentity],
    columns: { company_id: { kind: 'company_id', comment: 'The company (companies.id).' } },
  },
  company_source_stats: {
    comment: "Messages of a company's people by source system, as the service counts them.",
    key: ['company_id', 'source'],
    documents: ['company_activity'],
    ids: { id: 'company_id' },
    rows: 'sourceStats',
    repeated: 'sum',
    fields: [sourceStat],
    columns: { company_id: { kind: 'company_id', comment: 'The company (companies.id).' } },
  },
} as const satisfies Record<string, TableEntry>;
