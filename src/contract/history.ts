import { z } from 'zod';
import { freeForm, id, maybe, number, text, when } from './fields.js';
import { personHistoryLimit } from './limits.js';

export const actors = ['agent', 'system', 'user'] as const;
const actor = z.looseObject({ id: text, image: text, name: text });

/** One history record of a topic, company or person. */
export const historyRecord = z.looseObject({
  id,
  changedAt: when,
  changedBy: z.enum(actors),
  operation: z.enum(['INSERT', 'UPDATE', 'DELETE']),
  changes: freeForm,
  previousValues: freeForm,
  user: maybe(actor),
});

const named = z.looseObject({ id, name: text });
const titled = z.looseObject({ id, title: text });

/** `mergedInto`: where the entity itself went. One of the three targets is set, by the kind of entity. */
const mergedInto = z.looseObject({
  id: text,
  mergedAt: when,
  user: maybe(actor),
  targetTopic: maybe(titled),
  targetCompany: maybe(named),
  targetPerson: maybe(named),
});

/** One item of `merges`: what was merged into the entity. */
const merge = z.looseObject({
  id: text,
  mergedAt: when,
  user: maybe(actor),
  sourceTopics: maybe(z.array(titled)),
  sourceCompanies: maybe(z.array(named)),
  sourcePersons: maybe(z.array(named)),
});

/** What a history answer holds besides its records. `actions` (topics only) is documented as always empty. */
export const historySummary = z.looseObject({
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
