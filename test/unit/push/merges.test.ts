import { describe, expect, it } from 'vitest';
import { RejectedError } from '../../../src/base/errors.js';
import { type KnownPerson, problemsOf } from '../../../src/push/merges.js';
import { type RemotePerson, readMerge } from '../../../src/push/people.js';

const kim: KnownPerson = {
  id: '1',
  name: 'Kim Lee',
  email: 'kim@example.com',
  companyId: '7',
  company: 'Acme',
  accounts: 2,
  accountNames: [],
  messages: 3,
  conversations: 1,
  lastSeenAt: null,
  syncedAt: null,
  isDeleted: false,
  mergedIntoId: null,
  role: 'customer',
};
const lee: KnownPerson = { ...kim, id: '2', name: 'K. Lee', email: null };
const there = (values = {}): RemotePerson => ({ state: 'there', values });
const gone: RemotePerson = { state: 'gone' };
const pairOf = (source: Partial<KnownPerson> = {}, target: Partial<KnownPerson> = {}) => ({
  source: { ...kim, ...source },
  target: { ...lee, ...target },
  score: null,
  reasons: [],
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
    ['that one was merged', pairOf(), now({ state: 'merged', into: '9' }), /was merged into 9 already/],
    ['that one came back', pairOf({ isDeleted: true }), now(there()), /was deleted when/],
    ['a bot', pairOf({ role: 'bot' }), now(there()), /is a bot and K\. Lee \(2\) a customer/],
    ['staff', pairOf({}, { role: 'staff' }), now(there()), /one of our own staff/],
  ])('%s', (_, pair, remote, problem) => {
    const problems = problemsOf(pair, remote);
    if (problem === null) expect(problems).toEqual([]);
    else expect(problems).toEqual([expect.stringMatching(problem)]);
  });
});

describe('what the API has of a merge', () => {
  const notFound = (name: string) =>
    new RejectedError('gone', { endpoint: name, method: 'GET', path: '/' }, 404, undefined, undefined);
  /** Reads the merge of 1 into 2 from an API that answers these people, and these histories. */
  async function read(people: Record<string, unknown>, histories: Record<string, unknown> = {}) {
    const call = async (name: string, { params }: { params: { personId: string } }) => {
      const body = (name === 'person' ? people : histories)[params.personId];
      if (body === undefined) throw notFound(name);
      return { body };
    };
    const context = { api: { call }, stop: new AbortController().signal };
    const change = { entityId: '1', wanted: { merged_into_id: '2' } };
    return readMerge(context as unknown as Parameters<typeof readMerge>[0], change);
  }
  const into = (id: string) => ({ mergedInto: { targetPerson: { id } }, merges: [] });

  it('is not merged while the person is answered, also where a history has a merge that was undone', async () => {
    const merged = { mergedInto: null, merges: [{ sourcePersons: [{ id: '1' }] }] };
    const found = await read({ 1: { id: '1' }, 2: { id: '2' } }, { 1: into('2'), 2: merged });
    expect(found.values).toEqual({ merged_into_id: null });
  });

  it('is merged where the answer is the other person, or a history says where a missing one went', async () => {
    const done = { merged_into_id: '2' };
    expect((await read({ 1: { id: '2' }, 2: { id: '2' } })).values).toEqual(done);
    expect((await read({ 2: { id: '2' } }, { 1: into('2') })).values).toEqual(done);
    const merged = { mergedInto: null, merges: [{ sourcePersons: [{ id: '1' }] }] };
    expect((await read({ 2: { id: '2' } }, { 2: merged })).values).toEqual(done);
  });

  it('cannot be made where one is gone, or went to somebody else', async () => {
    expect((await read({ 2: { id: '2' } })).notFound?.code).toBe('not_found');
    expect((await read({ 1: { id: '1' } })).notFound?.message).toContain('no person 2');
    expect((await read({ 2: { id: '2' } }, { 1: into('9') })).notFound?.code).toBe('merged');
  });
});
