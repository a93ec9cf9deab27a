import { z } from 'zod';
import { flag, id, integer, maybe, numbers, text, when } from './fields.js';

export const companyConnections = z.looseObject({
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
export type Company = z.infer<typeof company>;

/** One item of `GET /companies`. */
export const companyListItem = z.looseObject({
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
export type CompanyListItem = z.infer<typeof companyListItem>;

/** `GET /companies/{companyId}/activity`. */
export const companyActivity = z.looseObject({
  messageCount: integer,
  sourceStats: maybe(z.array(z.looseObject({ source: z.string(), messageCount: integer }))),
  weeklyActivity: numbers,
});

/** External identity: `GET /companies/{companyId}/identities`. */
export const companyIdentity = z.looseObject({
  id: text,
  platform: z.string(),
  platformId: z.string(),
  platformUsername: text,
});

/** One item of `PATCH /companies/bulk`; required-ness is not shown, only the id is needed to mean anything. */
export const companyChange = z.object({
  companyId: id,
  name: z.string().optional(),
  logoUrl: z.string().optional(),
  isVip: z.boolean().optional(),
  primaryDomain: z.string().optional(),
  connections: companyConnections.optional(),
});
export type CompanyChange = z.infer<typeof companyChange>;

export const changeCompanies = z.object({ companies: z.array(companyChange).min(1) });
export const changedCompanies = z.looseObject({
  results: z.array(z.looseObject({ companyId: id, success: z.boolean(), data: maybe(company), error: text })),
});

/** The body of `POST /companies`; fields beyond name and domain are not shown. */
export const createCompanies = z.object({
  companies: z.array(z.looseObject({ name: z.string().optional(), domain: z.string().optional() })).min(1),
});
