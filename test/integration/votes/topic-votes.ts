import { z } from 'zod';
import { id, integer, object, text, when } from '../../../src/contract/fields.js';
import { byTopic, type ResourceEntry } from '../../../src/contract/resource-entry.js';
import type { TableEntry } from '../../../src/contract/table-entry.js';

/** One vote for a topic: `GET /topics/{topicId}/votes`, an endpoint that the API does not have. */
const vote = object({
  id: id('record_id').describe('Identifier of the vote.'),
  personId: text('person_id').describe('Who voted (people.id).'),
  value: integer.describe('1 for the topic, -1 against it.'),
  castAt: when.describe('When it was cast (UTC).'),
});

export const votes = {
  topic_votes: {
    parent: 'topics',
    endpoint: {
      path: '/topics/{topicId}/votes',
      summary: 'The votes for a topic',
      params: byTopic,
      response: object({ votes: z.array(vote) }),
    },
    item: vote,
    optionalFields: [],
    answer: { form: 'members', names: ['votes'], key: ['id'] },
    weight: 55,
    maxAgeDays: 21,
    changeFields: ['$.priority'],
    removedWithParent: true,
  },
} as const satisfies Record<string, ResourceEntry>;

export const voteTables = {
  topic_votes: {
    comment: 'Votes for a topic.',
    key: ['topic_id', 'id'],
    documents: ['topic_votes'],
    ids: { parent_id: 'topic_id', id: 'id' },
    fields: [vote],
    columns: { topic_id: { kind: 'topic_id', comment: 'The topic (topics.id).' } },
  },
} as const satisfies Record<string, TableEntry>;
