import { companyCounts, peopleOfCompany } from '../world/counts.js';
import type { StoredCompany } from '../world/types.js';
import { iso, type Renderer } from './renderer.js';

/** Company detail. */
export function companyOf(renderer: Renderer, company: StoredCompany) {
  const { connections, id, isOrgCompany, isVip, name, primaryDomain } = company;
  const logoUrl = renderer.url(company.logoUrl);
  return {
    connections,
    createdAt: iso(company.createdAt),
    id,
    isOrgCompany,
    isVip,
    logoUrl,
    name,
    primaryDomain,
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
    const { connections: _, createdAt: __, ...shared } = companyOf(renderer, company);
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
