import { messageOf } from '../../base/errors.js';
import type { BodyOf } from '../../contract/endpoints.js';
import { HttpError, invalid } from '../errors.js';
import { changes } from '../world/changes/index.js';
import { companyCounts, peopleOfCompany } from '../world/counts.js';
import { getOrThrow, UnknownEntityError } from '../world/history.js';
import type { StoredCompany, World } from '../world/types.js';
import { type Handlers, keyActor } from './call.js';
import { historyOf, requireHistory } from './history.js';
import { pagedAnswer } from './lists.js';
import { iso, type Renderer, without } from './renderer.js';

export const companyHandlers = {
  companies: (call) => {
    const companies = [...call.world.companies.values()];
    return pagedAnswer(call, companies, (company) => companyItemJson(call.renderer, company));
  },

  company: ({ renderer, params, world }) =>
    JSON.stringify(companyOf(renderer, getOrThrow(world.companies, 'company', params.companyId))),

  company_activity: ({ renderer, params, world }) =>
    JSON.stringify(activityOf(renderer, getOrThrow(world.companies, 'company', params.companyId))),

  company_history: ({ params, world }) =>
    historyOf(world, 'company', params.companyId, requireHistory(world, 'company', params.companyId)),

  company_identities: ({ params, world }) =>
    JSON.stringify({ identities: getOrThrow(world.companies, 'company', params.companyId).identities }),

  update_companies: ({ body, renderer, touched, world }) => {
    const results = body.companies.map(({ companyId, ...item }) => {
      try {
        const company = getOrThrow(world.companies, 'company', companyId);
        touched.push({ type: 'company', id: companyId, fields: changeCompany(world, companyId, item) });
        const data = without(companyOf(renderer, company), 'createdAt', 'isOrgCompany');
        return { companyId, success: true, data };
      } catch (error) {
        // "A failing item has `success` false and an `error` string while the others proceed" (Errors).
        if (!(error instanceof HttpError || error instanceof UnknownEntityError)) throw error;
        return { companyId, success: false, error: messageOf(error) };
      }
    });
    return JSON.stringify({ results });
  },
} satisfies Partial<Handlers>;

type Item = Omit<BodyOf<'update_companies'>['companies'][number], 'companyId'>;

/** Changes one company of a batch; returns the names of the fields. @throws HttpError 400 */
function changeCompany(world: World, id: string, item: Item): string[] {
  const names = Object.keys(item);
  if (names.length === 0) throw invalid('At least one field must be given');
  const { connections, ...fields } = item;
  const given = { ...fields, ...(connections && { connections: onlyTexts(connections) }) };
  changes.patchCompany(world, { companyId: id, fields: given }, keyActor);
  return names;
}

/** The values of a connections object that are text. */
function onlyTexts(values: Record<string, unknown>): Record<string, string> {
  const texts = Object.entries(values).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(texts) as Record<string, string>;
}

/** Company detail. */
export function companyOf(renderer: Renderer, company: StoredCompany) {
  return {
    ...without(company, 'identities'),
    createdAt: iso(company.createdAt),
    logoUrl: renderer.url(company.logoUrl),
  };
}

/** A company as it is embedded in people and topics; null without one. */
export function embeddedCompany(renderer: Renderer, companyId: string | null) {
  const company = renderer.world.companies.get(companyId ?? '');
  if (company === undefined) return null;
  const { id, name, primaryDomain: domain } = company;
  return { domain, id, logoUrl: renderer.url(company.logoUrl), name };
}

/** Company list item as JSON text, with statistics over the company's people. */
export function companyItemJson(renderer: Renderer, company: StoredCompany): string {
  return renderer.json(`company-item:${company.id}`, () => {
    const shared = without(companyOf(renderer, company), 'connections', 'createdAt');
    const { lastSeenAt, messageCount } = companyCounts(renderer.world, company.id);
    const personCount = peopleOfCompany(renderer.world, company.id).length;
    return { ...shared, lastSeenAt: iso(lastSeenAt), messageCount, personCount };
  });
}

/** `GET /companies/{companyId}/activity`. */
export function activityOf(renderer: Renderer, company: StoredCompany) {
  const { messageCount, sourceStats, weeklyActivity } = companyCounts(renderer.world, company.id);
  return { messageCount, sourceStats, weeklyActivity };
}
