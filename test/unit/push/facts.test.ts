import { expect, it } from 'vitest';
import type { Change } from '../../../src/push/change.js';
import { replacedValues } from '../../../src/push/facts.js';
import type { Store } from '../../../src/push/stored.js';

const change = {
  status: 'applied',
  entityType: 'company',
  entityId: '1',
  wanted: { name: 'Ours' },
  remoteBefore: { name: 'Read' },
  firstSentAt: '2026-11-20T10:00:00.000Z',
  settledAt: '2026-11-20T10:00:03.000Z',
} as unknown as Change;

/** A record of the history, some seconds after the change was sent. */
function record(seconds: number, to: string, from: string | undefined, user: string | null = null) {
  const at = new Date(Date.parse('2026-11-20T10:00:00.000Z') + seconds * 1_000).toISOString();
  const previous = from === undefined ? null : JSON.stringify({ name: from });
  const about = { entityType: 'company', entityId: '1', name: user, at };
  return { ...about, changes: JSON.stringify({ name: to }), previous };
}

it.each([
  [
    'a record of a colleague before ours',
    [record(2, 'Ours', undefined), record(1, 'Theirs', 'Read', 'Cora')],
    'Theirs by Cora',
  ],
  ['our own record alone, by what it replaced', [record(2, 'Ours', 'Theirs')], 'Theirs by null'],
  ['our own record, which replaced what was read', [record(2, 'Ours', 'Read')], undefined],
  ['our own record, which does not say what it replaced', [record(2, 'Ours', undefined)], undefined],
  [
    'a record of ours that has the name of a user',
    [record(2, 'Ours', undefined, 'Key'), record(1, 'Theirs', 'Read', 'Cora')],
    'Theirs by Cora',
  ],
  [
    'what a colleague set again long after us',
    [record(60, 'Ours', 'Theirs', 'Cora'), record(30, 'Theirs', 'Ours', 'Dan'), record(2, 'Ours', 'Read')],
    undefined,
  ],
  ['a colleague after us', [record(3, 'Theirs', 'Ours', 'Cora'), record(2, 'Ours', 'Read')], undefined],
])('what a change replaced unseen is found in %s', async (_, latestFirst, found) => {
  const store = { all: async () => latestFirst } as unknown as Store;
  const [one] = (await replacedValues(store, [change]))(change);
  expect(one && `${one.value} by ${one.name}`).toBe(found);
});

it('a record after the API has forgotten the key is not ours, however late the change was settled', async () => {
  const late = { ...change, settledAt: '2026-11-22T10:00:00.000Z' };
  const store = { all: async () => [record(24 * 3_600 + 60, 'Ours', 'Theirs', 'Cora')] } as unknown as Store;
  expect((await replacedValues(store, [late]))(late)).toEqual([]);
});

it.each([
  ['is the one of the time that the answer to the write said', { updated_at: '2026-11-20T10:00:02.000Z' }],
  ['is the first where no answer said one', {}],
])('our own record %s, not a later one with the same value', async (_, answered) => {
  const written = { ...change, remoteAfter: { name: 'Ours', ...answered } };
  const latestFirst = [
    record(4, 'Ours', 'Another', 'Cora'),
    record(3, 'Another', 'Ours', 'Cora'),
    record(2, 'Ours', 'Theirs'),
    record(1, 'Theirs', 'Read', 'Cora'),
  ];
  const store = { all: async () => latestFirst } as unknown as Store;
  const [one] = (await replacedValues(store, [written]))(written);
  expect(one?.value).toBe('Theirs');
});
