import { z } from 'zod';
import { automationTemplate } from '../contract/automations.js';
import { company, companyConnections, companyIdentity } from '../contract/companies.js';
import { type EndpointName, endpoints } from '../contract/endpoints.js';
import { id, maybe, text } from '../contract/fields.js';
import { newPerson, person, personChange } from '../contract/people.js';
import { paged } from '../contract/resource-entry.js';
import { channel } from '../contract/service.js';
import { topic } from '../contract/topics.js';
import type { ListForm, SandboxForms } from './options.js';

/**
 * The schemas of bodies and answers that the document does not show, as the sandbox assumes them (docs/assumptions.md).
 * Each follows the most similar one that the document does show.
 */

const companyFields = z.object({
  name: z.string().min(1).optional(),
  logoUrl: z.string().optional(),
  isVip: z.boolean().optional(),
  primaryDomain: z.string().optional(),
  connections: companyConnections.optional(),
});

/** An external record, and the person or the company (exactly one of them) to link it to. */
const link = z.object({
  personId: id.optional(),
  companyId: id.optional(),
  platform: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/),
  platformId: z.string().min(1),
  platformUsername: z.string().optional(),
});

/** Bodies of endpoints whose payload the document does not show. */
export const assumedBodies = {
  update_topics: z.object({ topics: z.array(z.looseObject({ topicId: id })).min(1) }),
  merge_topics: z.object({ sourceTopicIds: z.array(id).min(1), targetTopicId: id }),
  archive_topic: z.object({ archivedReason: z.string().optional() }).nullish(),
  merge_companies: z.object({ sourceCompanyIds: z.array(id).min(1), targetCompanyId: id }),
  update_company: companyFields,
  add_company_people: z.object({ personIds: z.array(id).min(1) }),
  update_people: z.object({ people: z.array(newPerson.extend({ personId: id })).min(1) }),
  update_person: personChange,
  identify: z.object({ links: z.array(link).min(1) }),
} as const satisfies Partial<Record<EndpointName, z.ZodType>>;

export type AssumedBodies = { [N in keyof typeof assumedBodies]: z.infer<(typeof assumedBodies)[N]> };

const merged = z.looseObject({ mergedCount: z.number() });
const resultsOf = <T extends z.ZodRawShape>(shape: T) =>
  z.looseObject({ results: z.array(z.looseObject({ ...shape, success: z.boolean(), error: text })) });

/** Answers that the document does not show, and that have a single form. */
const assumedAnswers: Partial<Record<EndpointName, z.ZodType>> = {
  update_topics: resultsOf({ topicId: id, data: maybe(topic) }),
  merge_topics: merged,
  archive_topic: topic,
  create_companies: resultsOf({ name: text, data: maybe(company) }),
  merge_companies: merged,
  update_company: company,
  add_company_people: resultsOf({ personId: id }),
  update_people: resultsOf({ personId: id, data: maybe(person) }),
  update_person: person,
  identify: resultsOf({ personId: text, companyId: text, data: maybe(companyIdentity) }),
};

/** The schema of an endpoint's answer: the contract's, or the assumed one where the document shows none. */
export function answerSchema(name: EndpointName, forms: SandboxForms): z.ZodType {
  if (name === 'people') return inForm(forms.people, 'people', person);
  if (name === 'channels') return inForm(forms.channels, 'channels', channel);
  if (name === 'automation_templates') return inForm(forms.templates, 'templates', automationTemplate);
  return assumedAnswers[name] ?? endpoints[name].response;
}

function inForm(form: ListForm, property: string, item: z.ZodType): z.ZodType {
  if (form === 'paged') return paged(item);
  return form === 'array' ? z.array(item) : z.looseObject({ [property]: z.array(item) });
}
