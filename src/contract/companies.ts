import { z } from 'zod';
import { activities, digits, flag, id, integer, maybe, object, seen, string, text } from './fields.js';
import { historyAnswer, historyRecord } from './history.js';
import { entityGroup, groupsEndpoint } from './messages.js';
import { byCompany, type EmbeddedEntry, paged, paging, type ResourceEntry } from './resource-entry.js';

const companyConnections = object({
  email: text('company_contact'),
  github: text('company_contact'),
  linkedin: text('company_contact'),
  phone: text('company_contact'),
  twitter: text('company_contact'),
});

/** `GET /companies/{companyId}`. */
export const company = object({
  id: id('company_id'),
  connections: maybe(companyConnections),
  createdAt: seen,
  isOrgCompany: flag,
  isVip: flag,
  logoUrl: text('company_logo'),
  name: text('company_name'),
  primaryDomain: text('company_domain'),
});

/** An employee, as a person's company lists them. */
export const employee = object({
  id: id('person_id'),
  avatarUrl: text('person_picture'),
  name: text('person_name'),
});

/** One item of `GET /companies`. */
const companyListItem = object({
  id: id('company_id'),
  isOrgCompany: flag,
  isVip: flag,
  lastSeenAt: seen,
  logoUrl: text('company_logo'),
  messageCount: integer,
  name: text('company_name'),
  personCount: integer,
  primaryDomain: text('company_domain'),
});

/** `GET /companies/{companyId}/activity`. */
const companyActivity = object({
  messageCount: integer,
  sourceStats: maybe(z.array(object({ source: string('none'), messageCount: integer }))),
  weeklyActivity: activities,
});

/** External identity: `GET /companies/{companyId}/identities`. */
const companyIdentity = object({
  id: text('author_id'),
  platform: string('none'),
  platformId: string('account_id'),
  platformUsername: text('account_name'),
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
