import { z } from 'zod';
import { automation, createAutomation } from './automations.js';
import { changeCompanies, changedCompanies, createCompanies } from './companies.js';
import { createdPeople, createPeople, mergedPeople, mergePeople, personChange } from './people.js';
import { byCompany, byPerson, byTopic, type ReadEndpoint } from './resource-entry.js';
import { type ReadEndpoints, resources } from './resources.js';
import { whoamiAnswer } from './service.js';
import { topic, topicChange } from './topics.js';

/** One endpoint of the service, as data. `documented: false` where the document leaves its form open. */
export interface Endpoint extends Omit<ReadEndpoint, 'documented'> {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly body?: z.ZodType;
  readonly documented: boolean;
}

const none = z.object({});
const unknownBody = z.record(z.string(), z.unknown());

/** A read endpoint of the resource table, as it is called. */
type AsGet<E> = Omit<E, 'documented'> & { readonly method: 'GET'; readonly documented: boolean };

function asGet<E extends ReadEndpoint>(endpoint: E): AsGet<E> {
  return { ...endpoint, method: 'GET', documented: endpoint.documented ?? true };
}

/** The endpoints of a resource table, by the name under which they are called. */
export function readEndpoints(
  table: Readonly<Record<string, ReadEndpoint>>,
): Readonly<Record<string, Endpoint>> {
  return Object.fromEntries(Object.entries(table).map(([name, endpoint]) => [name, asGet(endpoint)]));
}

/**
 * Every endpoint that the document names: those of the resource table, and here whoami and the writes. The name is used
 * in tables, messages and metrics.
 */
export const endpoints = {
  ...(readEndpoints(resources.endpoints) as { [N in keyof ReadEndpoints]: AsGet<ReadEndpoints[N]> }),

  whoami: asGet({ path: '/whoami', summary: 'The organization behind the key', response: whoamiAnswer }),

  update_topic: write('PATCH', '/topics/{topicId}', 'Change one topic', topicChange, topic, {
    params: byTopic,
  }),
  update_topics: hidden('PATCH', '/topics/bulk', 'Change topics'),
  merge_topics: hidden('POST', '/topics/merge', 'Merge topics'),
  archive_topic: hidden('POST', '/topics/{topicId}/archive', 'Archive one topic', byTopic),

  create_companies: hidden('POST', '/companies', 'Create companies', none, createCompanies),
  update_companies: write('PATCH', '/companies/bulk', 'Change companies', changeCompanies, changedCompanies),
  merge_companies: hidden('POST', '/companies/merge', 'Merge companies'),
  update_company: hidden('PATCH', '/companies/{companyId}', 'Change one company', byCompany),
  add_company_people: hidden('POST', '/companies/{companyId}/people', 'Add people to a company', byCompany),

  create_people: write('POST', '/people', 'Create people', createPeople, createdPeople),
  update_people: hidden('PATCH', '/people/bulk', 'Change people'),
  merge_people: write('POST', '/people/merge', 'Merge people', mergePeople, mergedPeople),
  update_person: hidden('PATCH', '/people/{personId}', 'Change one person', byPerson, personChange),
  identify: hidden('POST', '/identify', 'Link external records to people and companies'),

  create_automation: write('POST', '/automations', 'Create an automation', createAutomation, automation),
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof endpoints;

function write<B extends z.ZodType, R extends z.ZodType, X extends object>(
  method: 'POST' | 'PATCH',
  path: string,
  summary: string,
  body: B,
  response: R,
  more?: X,
) {
  return { method, path, summary, body, response, documented: true, ...(more as X) } as const;
}

/** An endpoint whose payload or answer the document does not show. */
function hidden<P extends z.ZodObject = typeof none, B extends z.ZodType = typeof unknownBody>(
  method: 'POST' | 'PATCH',
  path: string,
  summary: string,
  params?: P,
  body?: B,
) {
  return {
    method,
    path,
    summary,
    params: (params ?? none) as P,
    body: (body ?? unknownBody) as B,
    response: z.unknown(),
    documented: false,
  } as const;
}

/** The types of an endpoint's parts, for callers that name it. */
export type ParamsOf<N extends EndpointName> = Part<N, 'params'>;
export type QueryOf<N extends EndpointName> = Partial<Part<N, 'query'>>;
export type BodyOf<N extends EndpointName> = Part<N, 'body'>;

type Part<N extends EndpointName, K extends string> =
  (typeof endpoints)[N] extends Record<K, infer S>
    ? S extends z.ZodType
      ? z.infer<S>
      : Record<never, never>
    : Record<never, never>;
