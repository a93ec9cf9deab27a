import { companyCounts } from '../world/counts.js';
import type { StoredCompany } from '../world/types.js';
import { iso, type Renderer } from './renderer.js';

/** Company detail. */
export function companyOf(renderer: Renderer, company: StoredCompany) {
  return {
    connections: company.connections,
    createdAt: iso(company.createdAt),
    id: company.id,
    isOrgCompany: company.isOrgCompany,
    isVip: company.isVip,
    logoUrl: renderer.url(company.logoUrl),
    name: company.name,
    primaryDomain: company.primaryDomain,
  };
}

/** The `data` of a result of `PATCH /companies/bulk`. */
export function writtenCompany(renderer: Renderer, company: StoredCompany) {
  const { connections, id, isVip, logoUrl, name, primaryDomain } = companyOf(renderer, company);
  return { connections, id, isVip, logoUrl, name, primaryDomain };
}

/** Company list item as JSON text, with statistics over the company's people. */
export function companyItemJson(renderer: Renderer, company: StoredCompany): string {
  return renderer.cachedUnlessSigned(`company-item:${company.id}`, () => {
    const counts = companyCounts(renderer.world, company.id);
    return JSON.stringify({
      id: company.id,
      isOrgCompany: company.isOrgCompany,
      isVip: company.isVip,
      lastSeenAt: iso(counts.lastSeenAt),
      logoUrl: renderer.url(company.logoUrl),
      messageCount: counts.messageCount,
      name: company.name,
      personCount: counts.personCount,
      primaryDomain: company.primaryDomain,
    });
  });
}

/** `GET /companies/{companyId}/activity`. */
export function activityOf(renderer: Renderer, company: StoredCompany) {
  const counts = companyCounts(renderer.world, company.id);
  return {
    messageCount: counts.messageCount,
    sourceStats: counts.sourceStats,
    weeklyActivity: counts.weeklyActivity,
  };
}
