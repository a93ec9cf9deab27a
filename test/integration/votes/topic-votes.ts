import { z } from 'zod';
import { id, integer, object, text, when } from '../../../src/contract/fields.js';
import { byTopic, type ResourceEntry } from '../../../src/contract/resource-entry.js';

/** One vote for a topic: `GET /topics/{topicId}/votes`, an endpoint that the API does not have. */
const vote = object({
  id: id('record_id'),
  personId: text('person_id'),
  value: integer,
  castAt: when,
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
