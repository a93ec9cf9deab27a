import { z } from 'zod';
import { freeForm, id, maybe, number, object, text, when } from './fields.js';
import { personHistoryLimit } from './limits.js';

export const actors = ['agent', 'system', 'user'] as const;
const actor = object({
  id: text('user_id'),
  image: text('person_picture'),
  name: text('person_name'),
});

/** One history record of a topic, company or person. */
export const historyRecord = object({
  id: id('record_id'),
  changedAt: when,
  changedBy: z.enum(actors),
  operation: z.enum(['INSERT', 'UPDATE', 'DELETE']),
  changes: freeForm('history_values'),
  previousValues: freeForm('history_values'),
  user: maybe(actor),
});

const topic = object({ id: id('topic_id'), title: text('topic_title') });
const company = object({ id: id('company_id'), name: text('company_name') });
const person = object({ id: id('person_id'), name: text('person_name') });

/** `mergedInto`: where the entity itself went. One of the three targets is set, by the kind of entity. */
const mergedInto = object({
  id: text('record_id'),
  mergedAt: when,
  user: maybe(actor),
  targetTopic: maybe(topic),
  targetCompany: maybe(company),
  targetPerson: maybe(person),
});

/** One item of `merges`: what was merged into the entity. */
const merge = object({
  id: text('record_id'),
  mergedAt: when,
  user: maybe(actor),
  sourceTopics: maybe(z.array(topic)),
  sourceCompanies: maybe(z.array(company)),
  sourcePersons: maybe(z.array(person)),
});

/** What a history answer holds besides its records. `actions` (topics only) is documented as always empty. */
export const historySummary = object({
  mergedInto: maybe(mergedInto),
  merges: maybe(z.array(merge)),
  totalCount: number,
  actions: maybe(z.array(z.unknown())),
});

export const historyAnswer = historySummary.extend({ history: z.array(historyRecord) });

/** The query of a person's history. */
export const historyQuery = z.object({
  changedByFilter: z
    .preprocess((value) => (typeof value === 'string' ? value.split(',') : value), z.array(z.enum(actors)))
    .optional(),
  limit: z.coerce.number().int().min(1).max(personHistoryLimit).optional(),
});
