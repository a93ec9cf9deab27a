import { appendFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { RejectedError } from '../../../src/base/errors.js';
import { MergeJournal, mergeJournalPath, type PeopleMerge } from '../../../src/push/merge-journal.js';
import {
  isConfirmation,
  isMerged,
  type KnownPerson,
  type MergeContext,
  mergePeople,
  problemsOf,
  type RemotePerson,
} from '../../../src/push/merge-people.js';
import { testFolder } from '../../support/test-folders.js';

const kim: KnownPerson = {
  ...{ id: '1', name: 'Kim Lee', email: 'kim@example.com', companyId: '7', company: 'Acme' },
  ...{ accounts: 2, accountNames: [], messages: 3, conversations: 1, lastSeenAt: null, syncedAt: null },
  ...{ isDeleted: false, mergedIntoId: null, role: 'customer' },
};
const lee: KnownPerson = { ...kim, id: '2', name: 'K. Lee', email: null };
const there = (values = {}, sources: string[] = []): RemotePerson => ({ state: 'there', values, sources });
const gone: RemotePerson = { state: 'gone', sources: [] };
const pairOf = (source: Partial<KnownPerson> = {}, target: Partial<KnownPerson> = {}) => ({
  ...{ source: { ...kim, ...source }, target: { ...lee, ...target } },
  ...{ score: null, reasons: [] },
});

describe('what speaks against a merge', () => {
  const now = (source: RemotePerson, target: RemotePerson = there()) => ({ source, target });
  it.each<[string, ReturnType<typeof pairOf>, ReturnType<typeof now>, RegExp | null]>([
    [
      'nothing, when all that says who they are is as it was',
      pairOf(),
      now(there({ name: 'Kim Lee', email: 'kim@example.com', companyId: '7', accounts: 2 })),
      null,
    ],
    ['nothing, when an answer leaves fields out', pairOf(), now(there()), null],
    ['a name', pairOf(), now(there({ name: 'Kim' })), /the name was "Kim Lee" and is "Kim"/],
    ['an address that is new', pairOf(), now(there(), there({ email: 'a@b.c' })), /was empty and is "a@b.c"/],
    [
      'a company that was left',
      pairOf(),
      now(there({ companyId: null })),
      /the company was "7" and is empty/,
    ],
    ['an account', pairOf(), now(there({ accounts: 3 })), /number of accounts was 2 and is 3/],
    ['that one is gone', pairOf(), now(there(), gone), /K\. Lee \(2\) is gone/],
    [
      'that one was merged',
      pairOf(),
      now({ state: 'merged', into: '9', sources: [] }),
      /was merged into 9 already/,
    ],
    ['that one came back', pairOf({ isDeleted: true }), now(there()), /was deleted when/],
    ['a bot', pairOf({ role: 'bot' }), now(there()), /is a bot and K\. Lee \(2\) a customer/],
    ['staff', pairOf({}, { role: 'staff' }), now(there()), /one of our own staff/],
  ])('%s', (_, pair, remote, problem) => {
    const problems = problemsOf(pair, remote);
    if (problem === null) expect(problems).toEqual([]);
    else expect(problems).toEqual([expect.stringMatching(problem)]);
  });
});

it('the id or the name of the one who stays confirms it; a name that both have does not', () => {
  const typed = (text: string, pair = pairOf()) => isConfirmation(text, pair);
  expect(['2', ' 2 ', 'k. lee', 'K. Lee'].map((one) => typed(one))).toEqual([true, true, true, true]);
  expect(['1', 'Kim Lee', '', 'y', 'yes', '22'].map((one) => typed(one))).toEqual(Array(6).fill(false));
  const alike = pairOf({ name: 'K. LEE' });
  expect([typed('K. Lee', alike), typed('2', alike)]).toEqual([false, true]);
  expect(typed('', pairOf({ name: 'A' }, { name: null }))).toBe(false);
});

it('a merge is done when the history of either side, or the answer itself, says so', () => {
  const ids = { source: { id: '1' }, target: { id: '2' } };
  const merged = (into: string): RemotePerson => ({ state: 'merged', into, sources: [] });
  expect(isMerged(ids, { source: merged('2'), target: there() })).toBe(true);
  expect(isMerged(ids, { source: gone, target: there({}, ['1']) })).toBe(true);
  expect(isMerged(ids, { source: there(), target: there({}, ['1']) })).toBe(true);
  expect(isMerged(ids, { source: gone, target: there({}, ['3']) })).toBe(false);
  expect(isMerged(ids, { source: merged('3'), target: there() })).toBe(false);
  expect(isMerged(ids, { source: there({}, ['2']), target: merged('1') })).toBe(false);
});

describe('the journal', () => {
  const dataDir = testFolder();

  it('has the last state of each merge, whatever a kill or somebody else left in it', () => {
    const merge: PeopleMerge = {
      ...{ id: 'a', sourceId: '1', targetId: '2', idempotencyKey: 'k', status: 'sending' },
      ...{ requestedBy: 'kim', requestedReason: null, firstSentAt: '2026-10-03T00:00:00.000Z' },
      ...{ settledAt: null, error: null },
    };
    const journal = new MergeJournal({ dataDir });
    expect(journal.all()).toEqual([]);
    journal.save(merge);
    journal.save({ ...merge, id: 'b' });
    appendFileSync(mergeJournalPath(dataDir), '{"id":"c"}\n{"id":"d","sour');
    journal.save({ ...merge, status: 'merged' });
    expect(journal.all().map(({ id, status }) => [id, status])).toEqual([
      ['a', 'merged'],
      ['b', 'sending'],
    ]);
  });
});

it('a merge in doubt has failed when the person who should go is gone', async () => {
  const journal = new MergeJournal({ dataDir: testFolder() });
  const firstSentAt = '2026-10-03T00:00:00.000Z';
  journal.save({
    ...{ id: 'a', sourceId: '1', targetId: '2', idempotencyKey: 'k', status: 'sending', firstSentAt },
    ...{ requestedBy: 'kim', requestedReason: null, settledAt: null, error: null },
  });
  const call = async (_: string, { params }: { params: { personId: string } }) => {
    if (params.personId === '1')
      throw new RejectedError(
        'no',
        { endpoint: 'person', method: 'GET', path: '/' },
        404,
        undefined,
        undefined,
      );
    return { body: { id: params.personId } };
  };
  const clock = { now: () => Date.parse(firstSentAt), sleep: async () => undefined };
  const context = { api: { call }, clock, stop: new AbortController().signal, journal };
  const request = { requestedBy: 'kim', requestedReason: null, dryRun: false };
  const report = await mergePeople(context as unknown as MergeContext, pairOf(), request);
  expect(report).toMatchObject({ outcome: 'refused', id: 'a' });
  expect(journal.all()).toMatchObject([{ id: 'a', status: 'failed' }]);
});
