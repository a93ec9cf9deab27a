import { type EndpointName, endpoints } from '../../contract/endpoints.js';
import { actors } from '../../contract/history.js';
import { personHistoryLimit } from '../../contract/limits.js';
import type { Answer, Call } from '../call.js';
import { handlers } from '../handlers/index.js';
import type { Principal, Service } from '../service.js';
import { Lens } from '../wire/lens.js';

/** What a request says beside its endpoint. */
interface Request {
  readonly params?: Record<string, string>;
  readonly query?: Record<string, unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: an answer as it goes over the wire
type Wire = any;

/** What belongs to an item of a list, each with a request of its own; the first answers for the item itself. */
export interface Things {
  readonly list: EndpointName;
  readonly idOf: (item: Wire) => string;
  readonly param: string;
  readonly children: readonly EndpointName[];
  /** Whether its conversations are asked for by `GET /groups`. */
  readonly hasGroups?: (item: Wire) => boolean;
}

export const things: readonly Things[] = [
  {
    list: 'topics',
    idOf: ({ id }) => id,
    param: 'topicId',
    children: ['topic', 'topic_groups', 'topic_people', 'topic_history'],
  },
  {
    list: 'companies',
    idOf: ({ id }) => id,
    param: 'companyId',
    children: ['company', 'company_activity', 'company_identities', 'company_history'],
    hasGroups: () => true,
  },
  {
    list: 'people',
    idOf: ({ id }) => id,
    param: 'personId',
    children: ['person', 'person_identities', 'person_source_stats', 'person_history'],
    // Those of a company's people are all among the company's.
    hasGroups: ({ company }) => !company,
  },
  { list: 'channels', idOf: ({ id }) => id, param: 'channelId', children: ['channel'] },
  { list: 'stories', idOf: ({ draft }) => draft.slug, param: 'slug', children: ['story'] },
  {
    list: 'automation_templates',
    idOf: ({ slug }) => slug,
    param: 'slug',
    children: ['automation_template'],
  },
];

/** What a client has to ask for to be told everything. */
const queries: Partial<Record<EndpointName, Record<string, unknown>>> = {
  person_history: { limit: personHistoryLimit, changedByFilter: actors },
  story: { includeArchived: 'true' },
};

/** Asks the handlers of the service themselves: no key, no limit, no fault, no drift, and no address signed. */
export class Inquiry {
  readonly #principal: Principal;

  constructor(readonly service: Service) {
    const { world } = service;
    const lens = new Lens(world, { signedUrls: false });
    this.#principal = { key: { key: '' }, tenant: { world, lens } };
  }

  /** The body of an answer; throws what the handler throws. */
  ask(endpoint: EndpointName, { params = {}, query = {} }: Request = {}): Wire {
    const { lens, world } = this.#principal.tenant;
    const { service } = this;
    const handle = handlers[endpoint] as unknown as (call: unknown) => Answer;
    const call: Omit<Call<'topics'>, 'params' | 'query'> & Request = {
      ...{ service, principal: this.#principal, world, lens, params, query },
      ...{ body: undefined as never, given: undefined, pagingFault: undefined },
    };
    return JSON.parse(String(handle(call).json));
  }

  /** One thing's child, by the id of the thing. */
  child(endpoint: EndpointName, param: string, id: string): Wire {
    return this.ask(endpoint, { params: { [param]: id }, query: queries[endpoint] ?? {} });
  }

  /** All items of a list, in the largest pages that are granted, and how many requests that took. */
  list(endpoint: EndpointName, query: Record<string, unknown> = {}): { items: Wire[]; requests: number } {
    const { maxPageSize: limit, pageBase } = this.service.settings;
    const items: Wire[] = [];
    for (let requests = 1; ; requests += 1) {
      const body = this.ask(endpoint, { query: { ...query, limit, page: pageBase + requests - 1 } });
      const shown: Wire[] = Array.isArray(body) ? body : (Object.values(body).find(Array.isArray) ?? []);
      items.push(...shown);
      const isWhole = body.totalCount === undefined || items.length >= body.totalCount;
      if (isWhole || shown.length === 0) return { items, requests };
    }
  }
}

/** The path of a request, with its parameters filled in. */
export function pathOf(endpoint: EndpointName, param: string, id: string): string {
  return endpoints[endpoint].path.replace(`{${param}}`, encodeURIComponent(id));
}
