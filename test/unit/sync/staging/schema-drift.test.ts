import { describe, expect, test } from 'vitest';
import { message } from '../../../../src/contract/messages.js';
import { topicListItem } from '../../../../src/contract/topics.js';
import { SchemaDrift } from '../../../../src/sync/staging/schema-drift.js';

describe('fields that the document does not name', () => {
  const unknownPaths = (value: unknown, schema: typeof topicListItem | typeof message = topicListItem) =>
    new SchemaDrift()
      .check('items', schema, [value])
      .flatMap(({ unknownFields }) => unknownFields.map(({ path }) => path));

  test('none in what is documented, however deep', () => {
    expect(
      unknownPaths({ id: 't', authors: [{ id: 'a', isBot: false }], linkedTicket: { url: 'x' } }),
    ).toEqual([]);
  });

  test('are found inside objects and lists too', () => {
    const item = {
      id: 't',
      sentiment: 1,
      authors: [{ id: 'a', mood: 'x' }],
      persons: [{ id: 'p', company: { id: 'c', tier: 1 } }],
    };
    expect(unknownPaths(item)).toEqual(['sentiment', 'authors.mood', 'persons.company.tier']);
  });

  test('are not looked for in what is free-form', () => {
    expect(unknownPaths({ id: 'm', metadata: { anything: { at: 'all' } } }, message)).toEqual([]);
  });
});
