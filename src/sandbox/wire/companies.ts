import { companyCounts, peopleOfCompany } from '../world/counts.js';
import type { StoredCompany } from '../world/types.js';
import { iso, type Renderer, without } from './renderer.js';

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
