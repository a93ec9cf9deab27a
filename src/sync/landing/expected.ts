import type { z } from 'zod';
import { company, companyActivity, companyListItem } from '../../contract/companies.js';
import { historyRecord } from '../../contract/history.js';
import { author, message } from '../../contract/messages.js';
import { person } from '../../contract/people.js';
import { topic, topicListItem, topicPerson } from '../../contract/topics.js';
import type { Landing } from './landing.js';
import type { SchemaDrift } from './schema-drift.js';

/**
 * The kinds whose form the document shows, and the fields of them that it calls optional. A field that none of many
 * items has is one that vanished; where the form is not shown, absence says nothing.
 */
const expected: Record<string, { schema: z.ZodObject; optional: readonly string[] }> = {
  topics: { schema: topicListItem, optional: [] },
  topic: {
    schema: topic,
    optional: [
      'graphStatus',
      'archivedAt',
      'successorTopic',
      'supersededAt',
      'timeRangeStart',
      'timeRangeEnd',
      'createdAt',
      'updatedAt',
    ],
  },
  topic_people: { schema: topicPerson, optional: [] },
  messages: { schema: message, optional: ['quoteHighlights', 'channel', 'reactions', 'replyTo', 'thread'] },
  authors: { schema: author, optional: [] },
  companies: { schema: companyListItem, optional: [] },
  company: { schema: company, optional: [] },
  company_activity: { schema: companyActivity, optional: [] },
  person: { schema: person, optional: [] },
  topic_history: { schema: historyRecord, optional: [] },
  company_history: { schema: historyRecord, optional: [] },
  person_history: { schema: historyRecord, optional: [] },
};

/** Notes every documented field that no item of its kind had in this run. */
export function noteMissingFields(landing: Landing, shapes: SchemaDrift): void {
  for (const [kind, { schema, optional }] of Object.entries(expected)) {
    for (const field of shapes.missing(kind, schema, new Set(optional))) {
      landing.note(kind, field, 'missing_field', null);
    }
  }
}
