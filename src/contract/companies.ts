import { z } from 'zod';
import { digits, flag, id, integer, maybe, numbers, text, when } from './fields.js';
import { historyAnswer, historyRecord } from './history.js';
import { entityGroup, groupsEndpoint } from './messages.js';
import { byCompany, type EmbeddedEntry, paged, paging, type ResourceEntry } from './resource-entry.js';

const companyConnections = z.looseObject({
  email: text,
  github: text,
  linkedin: text,
  phone: text,
  twitter: text,
});

/** `GET /companies/{companyId}`. */
export const company = z.looseObject({
  id,
  connections: maybe(companyConnections),
  createdAt: when,
  isOrgCompany: flag,
  isVip: flag,
  logoUrl: text,
  name: text,
  primaryDomain: text,
});

/** One item of `GET /companies`. */
const companyListItem = z.looseObject({
  id,
  isOrgCompany: flag,
  isVip: flag,
  lastSeenAt: when,
  logoUrl: text,
  messageCount: integer,
  name: text,
  personCount: integer,
  primaryDomain: text,
});

/** `GET /companies/{companyId}/activity`. */
const companyActivity = z.looseObject({
  messageCount: integer,
  sourceStats: maybe(z.array(z.looseObject({ source: z.string(), messageCount: integer }))),
  weeklyActivity: numbers,
});

/** External identity: `GET /companies/{companyId}/identities`. */
const companyIdentity = z.looseObject({
  id: text,
  platform: z.string(),
  platformId: z.string(),
  platformUsername: text,
});

/** One item of `PATCH /companies/bulk`; which fields are required is not shown; only the id is needed. */
const companyChange = z.object({
  companyId: id,
  name: z.string().optional(),
  logoUrl: z.string().optional(),
  isVip: z.boolean().optional(),
  primaryDomain: z.string().optional(),
  connections: companyConnections.optional(),
});

export const changeCompanies = z.object({ companies: z.array(companyChange).min(1) });
export const changedCompanies = z.looseObject({
  results: z.array(z.looseObject({ companyId: id, success: z.boolean(), data: maybe(company), error: text })),
});

/** The body of `POST /companies`; fields beyond name and domain are not shown. */
export const createCompanies = z.object({
  companies: z.array(z.looseObject({ name: z.string().optional(), domain: z.string().optional() })).min(1),
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
    weight: 60,
    maxAgeDays: 30,
    changeFields: activityFields,
    members: { list: 'people', parent: '$.company.id', fields: activityFields },
    removedWithParent: false,
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
      response: z.looseObject({ identities: z.array(companyIdentity) }),
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
  company_employees: { item: null, parent: 'companies', membersOf: 'people' },
} as const satisfies Record<string, EmbeddedEntry>;
