import { expect, test } from 'vitest';
import { entities } from '../../../src/privacy/entities.js';

const sorted = (names: Iterable<string> = []) => [...names].sort().join(' ');

test('of somebody who was forgotten, only what is counted and what refers to others stays', () => {
  const { kept, keptOfDeleted } = entities();
  expect(sorted(kept.get('person'))).toBe(
    'avgMessagesPerWeek company conversationCount createdAt firstSeenAt id identities identityCount isBot isStaff isVip ' +
      'lastSeenAt messageCount sources type weeklyActivity',
  );
  expect(sorted(kept.get('author'))).toBe('id isBot sourceAuthorId sourceName type');
  expect(sorted(kept.get('identity'))).toBe('platform platformId type');
  expect(sorted(kept.get('company'))).toBe(
    'createdAt employees id isOrgCompany isVip lastSeenAt messageCount personCount type',
  );
  expect(sorted(kept.get('conversation'))).toBe(
    'archivedAt endTimestamp id similarityAtAssignment startTimestamp type',
  );
  const message =
    'author channel createdAt deletedAt editedAt id isInternal quoteHighlights reactions replyTo replyToId ' +
    'sourceMessageType sourceName thread threadId type';
  expect(sorted(kept.get('message'))).toBe(message);
  const inSource = ['sourceMessageId', 'sourceReplyToId', 'sourceThreadId', 'sourceUrl'];
  expect(sorted(keptOfDeleted)).toBe(sorted([...message.split(' '), ...inSource]));
});

test('what is about people follows from the fields of a resource', () => {
  const { kindsOfPeople } = entities();
  expect(sorted(kindsOfPeople.own)).toBe(
    'company_employees people person person_merges topic_people topic_persons',
  );
});

test('what an embedded object is follows from the member that holds it', () => {
  const { ofMember } = entities();
  const members = ['persons', 'employees', 'targetPerson', 'group', 'replyTo', 'identities', 'data', 'user'];
  expect(members.map((name) => ofMember.get(name))).toEqual([
    'person',
    'person',
    'person',
    'conversation',
    'message',
    'identity',
    undefined,
    undefined,
  ]);
});
