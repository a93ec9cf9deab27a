import { z } from 'zod';
import { freeForm, id, maybe, number, object, text, when } from './fields.js';
import { personHistoryLimit } from './limits.js';
import { idByType, type MixedKind, type TableEntry } from './table-entry.js';

export const actors = ['agent', 'system', 'user'] as const;
const actor = object({
  id: text('user_id').describe('User who changed it. NULL when it was not a user.'),
  name: text('person_name').describe('Name of that user when the record was fetched.'),
  image: text('person_picture').describe(
    'Picture of that user when the record was fetched. NULL when there is none.',
  ),
});

/** One history record of a topic, company or person. */
export const historyRecord = object({
  id: id('record_id').describe("The API's id of the record (a UUID)."),
  changedAt: when.describe('When it was changed (UTC).'),
  changedBy: z.enum(actors).describe('agent (AI), system (internal or cascading) or user (by hand).'),
  operation: z.enum(['INSERT', 'UPDATE', 'DELETE']).describe('INSERT, UPDATE or DELETE.'),
  changes: freeForm('history_values').describe(
    'The changed fields with their new values, as JSON; free-form.',
  ),
  previousValues: freeForm('history_values').describe(
    'The changed fields with their old values, as JSON; free-form. NULL where there are none.',
  ),
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

/** What a history answer holds in addition to its records. `actions` (topics only) is documented as always empty. */
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

const nameByType = {
  by: 'entity_type',
  rows: { topic: 'topic_title', company: 'company_name', person: 'person_name' },
  otherwise: 'document',
} as const satisfies MixedKind;

export const historyTables = {
  history: {
    comment: 'One row per recorded change of a topic, company or person. Records are only added.',
    key: ['id'],
    documents: ['topic_history', 'company_history', 'person_history'],
    ids: { id: 'id' },
    siblings: false,
    fields: [historyRecord],
    mixed: { entity_id: idByType },
    columns: {
      entity_type: {
        before: 'changed_at',
        kind: 'none',
        comment: 'What was changed: topic, company or person.',
      },
      entity_id: {
        before: 'changed_at',
        kind: 'entity_id',
        comment: 'Id of what was changed (topics.id, companies.id or people.id).',
      },
    },
  },
  merges: {
    comment:
      'Which topic, company or person was merged into which: from the history of either side, or the newer one where both have it.',
    key: ['entity_type', 'source_id', 'target_id'],
    derived: ['raw.documents', 'topics', 'companies', 'people'],
    mixed: { source_id: idByType, target_id: idByType, source_name: nameByType, target_name: nameByType },
    columns: {
      entity_type: { kind: 'none', comment: 'What was merged: topic, company or person.' },
      source_id: { kind: 'entity_id', comment: 'Id of the one that was merged away.' },
      source_name: {
        before: 'target_id',
        kind: 'entity_name',
        comment:
          "Its name or title, from the target's history or else from its own row: a copy, which may lag until the next sweep. NULL when unknown.",
      },
      target_id: { kind: 'entity_id', comment: 'Id of the one that it was merged into.' },
      target_name: {
        kind: 'entity_name',
        comment: "Its name or title, from its own row or else from the source's history. NULL when unknown.",
      },
      merge_id: {
        kind: 'record_id',
        comment: "The API's id of the merge; one merge may have several sources.",
      },
      merged_at: { type: 'TIMESTAMPTZ', kind: 'time', comment: 'When they were merged (UTC).' },
      user_id: { kind: 'user_id', comment: 'User who merged them. NULL when it was not a user.' },
      user_name: { kind: 'person_name', comment: 'Name of that user when the history was fetched.' },
      user_image: {
        kind: 'person_picture',
        comment: 'Picture of that user when the history was fetched. NULL when there is none.',
      },
    },
  },
  fetched_histories: {
    comment:
      'Whose history was fetched at least once. What was before the first sync is known of these alone: a history that was not fetched yet says nothing, and is not guessed.',
    key: ['entity_type', 'entity_id'],
    derived: ['ops.coverage'],
    mixed: { entity_id: idByType },
    columns: {
      entity_type: { kind: 'none', comment: 'Whose history: topic, company or person.' },
      entity_id: { kind: 'entity_id', comment: 'Its id (topics.id, companies.id or people.id).' },
    },
  },
  history_requests: {
    comment:
      'Which records of the history a change made that was queued here: the API shows them as made by its key. One row per record.',
    key: ['history_id'],
    derived: ['history', 'ops.changes'],
    columns: {
      history_id: { kind: 'record_id', comment: 'The record (history.id).' },
      change_id: { kind: 'record_id', comment: 'The change (ops.changes.id).' },
      requested_by: {
        kind: 'person_name',
        comment: 'The person who requested it. NULL when nobody was named.',
      },
      requested_reason: {
        kind: 'worker_note',
        comment:
          'Why: the reason that was given with the request, or that for the archiving. NULL when none was given.',
      },
    },
  },
} as const satisfies Record<string, TableEntry>;
