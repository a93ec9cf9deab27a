import { actors } from '../contract/history.js';
import { personHistoryLimit } from '../contract/limits.js';
import type { ChildEndpoint } from './settings.js';

/** The parameters of the request for one entity's child. */
export interface ChildRequest {
  readonly params?: Record<string, string>;
  readonly query?: Record<string, string | number | readonly string[]>;
}

const topic = (id: string): ChildRequest => ({ params: { topicId: id } });
const company = (id: string): ChildRequest => ({ params: { companyId: id } });
const person = (id: string): ChildRequest => ({ params: { personId: id } });

const requests: Record<ChildEndpoint, (id: string) => ChildRequest> = {
  topic,
  topic_groups: topic,
  topic_people: topic,
  topic_history: topic,
  company,
  company_activity: company,
  company_groups: (id) => ({ query: { companyId: id } }),
  company_identities: company,
  company_history: company,
  person,
  person_groups: (id) => ({ query: { personId: id } }),
  person_identities: person,
  person_source_stats: person,
  // The default leaves out what the system did, and shows 20 records.
  person_history: (id) => ({ ...person(id), query: { limit: personHistoryLimit, changedByFilter: actors } }),
  channel: (id) => ({ params: { channelId: id } }),
  // Without it an archived story may not be answered.
  story: (id) => ({ params: { slug: id }, query: { includeArchived: 'true' } }),
  automation_template: (id) => ({ params: { slug: id } }),
};

/** What to ask for the child of this entity. */
export function requestFor(endpoint: ChildEndpoint, entityId: string): ChildRequest {
  return requests[endpoint](entityId);
}

/** The same request without what the document does not promise in its form, for a server that refused it with 400. */
export function plainRequestFor(endpoint: ChildEndpoint, entityId: string): ChildRequest | undefined {
  const { params, query } = requestFor(endpoint, entityId);
  return params && query ? { params } : undefined;
}
