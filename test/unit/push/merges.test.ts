import { describe, expect, it } from 'vitest';
import { RejectedError } from '../../../src/base/errors.js';
import { readMerge } from '../../../src/push/people.js';

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
