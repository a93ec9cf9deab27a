import { describe, expect, test } from 'vitest';
import { message } from '../../../../src/contract/messages.js';
import { topicListItem } from '../../../../src/contract/topics.js';
import { eachUnknown, known } from '../../../../src/sync/landing/unknown-fields.js';

function unknownPaths(value: unknown, schema = topicListItem as never): string[] {
  const paths: string[] = [];
  eachUnknown(known(schema), value, (path) => paths.push(path));
  return paths;
}

describe('eachUnknown', () => {
  test('finds nothing in what is documented, however deep', () => {
    expect(
      unknownPaths({ id: 't', authors: [{ id: 'a', isBot: false }], linkedTicket: { url: 'x' } }),
    ).toEqual([]);
  });

  test('names fields that are not documented, inside objects and lists too', () => {
    const item = {
      id: 't',
      sentiment: 1,
      authors: [{ id: 'a', mood: 'x' }],
      persons: [{ id: 'p', company: { id: 'c', tier: 1 } }],
    };
    expect(unknownPaths(item)).toEqual(['sentiment', 'authors.mood', 'persons.company.tier']);
  });

  test('does not look into what is free-form', () => {
    expect(unknownPaths({ id: 'm', metadata: { anything: { at: 'all' } } }, message as never)).toEqual([]);
  });
});
