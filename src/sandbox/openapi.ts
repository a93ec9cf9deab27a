import type { FastifySchema } from 'fastify';
import { z } from 'zod';
import { automationTemplate } from '../contract/automations.js';
import { type Endpoint, type EndpointName, endpoints } from '../contract/endpoints.js';
import { idempotencyKeyLength } from '../contract/limits.js';
import { person } from '../contract/people.js';
import { paged } from '../contract/resource-entry.js';
import { channel, errorBody } from '../contract/service.js';
import { declaredStatuses } from './errors.js';
import type { ListForm, SandboxSettings } from './options.js';

/** Opt-in on POST and PATCH (Limits). Loose, because fastify would drop every header that the schema does not name. */
const writeHeaders = z.looseObject({
  'idempotency-key': z.string().min(1).max(idempotencyKeyLength).optional(),
});

/** In addition to the statuses that every operation declares: a body can be too large, or not JSON. */
const bodyStatuses = [409, 413, 415];

/** Rules of the document that go beyond the types of single fields, as JSON Schema. */
const bodyRules: Partial<Record<EndpointName, Record<string, unknown>>> = {
  update_topic: {
    anyOf: ['archived', 'archivedReason', 'lifecycleState', 'priority'].map((name) => ({ required: [name] })),
    not: { anyOf: [{ required: ['issueType'] }, { required: ['keywords'] }] },
  },
  create_automation: {
    dependentRequired: { sourceName: ['sourceChannelId'], sourceChannelId: ['sourceName'] },
  },
};

const eitherOr = 'Exactly one of `companyId` and `personId` must be given; otherwise the answer is 400.';

/** How an endpoint is validated, and described in /openapi.json. */
export function schemaOf(name: EndpointName, settings: SandboxSettings): FastifySchema {
  const endpoint: Endpoint = endpoints[name];
  const writes = endpoint.method !== 'GET';
  const statuses = [...declaredStatuses.filter((status) => status !== 409), ...(writes ? bodyStatuses : [])];
  const query = queryOf(endpoint, settings);
  return {
    operationId: name,
    summary: endpoint.summary,
    ...(name === 'groups' ? { description: eitherOr } : {}),
    ...(endpoint.params ? { params: endpoint.params } : {}),
    ...(query ? { querystring: query } : {}),
    ...(endpoint.body ? { body: endpoint.body.meta(bodyRules[name] ?? {}) } : {}),
    ...(writes ? { headers: writeHeaders } : {}),
    response: {
      200: answerSchema(name, settings),
      ...Object.fromEntries(statuses.map((status) => [status, errorBody])),
    },
  } as FastifySchema;
}

/** Pages are counted from the configured number. */
function queryOf({ query }: Endpoint, { pageBase }: SandboxSettings): z.ZodObject | undefined {
  if (!query || !('page' in query.shape)) return query;
  return query.extend({ page: z.coerce.number().int().min(pageBase).optional() });
}

/** The schema of an endpoint's answer: the contract's, or that of the configured form where the document shows none. */
export function answerSchema(name: EndpointName, { forms }: Pick<SandboxSettings, 'forms'>): z.ZodType {
  if (name === 'people') return inForm(forms.people, 'people', person);
  if (name === 'channels') return inForm(forms.channels, 'channels', channel);
  if (name === 'automation_templates') return inForm(forms.templates, 'templates', automationTemplate);
  return endpoints[name].response;
}

function inForm(form: ListForm, property: string, item: z.ZodType): z.ZodType {
  if (form === 'paged') return paged(item);
  return form === 'array' ? z.array(item) : z.looseObject({ [property]: z.array(item) });
}
