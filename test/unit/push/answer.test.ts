import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  afterSending,
  companyAnswers,
  shows,
  statusByReading,
  topicAnswer,
} from '../../../src/push/answer.js';
import type { Change, Values } from '../../../src/push/change.js';

const change = (wanted: Values, remoteBefore: Values | null): Change =>
  ({ wanted, base: remoteBefore ?? {}, remoteBefore, baseFrom: 'file', undoes: [] }) as unknown as Change;

const read = (values: Values) => ({ values, listed: false });

describe('the answer to a PATCH of a topic', () => {
  test.each([
    [200, {}],
    [204, null],
    [200, []],
    [200, 'ok'],
    [200, { id: 'other', priority: 'high' }],
    [200, { priority: 'high' }],
  ])('is unclear: %i %j', (status, body) => {
    expect(topicAnswer('t1', { status, body })).toMatchObject({ kind: 'unclear' });
  });

  test('is the topic when it has its id, as text or as a number', () => {
    expect(topicAnswer('17', { status: 200, body: { id: 17 } })).toEqual({
      kind: 'entity',
      body: { id: 17 },
    });
    expect(topicAnswer('17', { status: 200, body: { id: '17' } })).toMatchObject({ kind: 'entity' });
  });

  test('a field that it leaves out is not shown, even if it should be empty', () => {
    expect(shows({ archived_reason: null }, {})).toBe(false);
    expect(shows({ archived_reason: null }, { archived_reason: '' })).toBe(true);
    expect(shows({ priority: 'high' }, { priority: 'low' })).toBe(false);
  });
});

describe('the answer to PATCH /companies/bulk', () => {
  const good = (id: string) => ({ companyId: id, success: true, data: { id, isVip: true }, error: null });

  test.each([null, [], {}, { results: {} }, { results: null }, 'ok'])('%j is unclear about each', (body) => {
    const answers = companyAnswers(['1', '2'], { status: 200, body });
    expect([...answers.values()].map(({ kind }) => kind)).toEqual(['unclear', 'unclear']);
  });

  test.each<[string, object, string]>([
    ['a numeric id', { ...good('1'), companyId: 1 }, 'entity'],
    ['numeric ids in the result and in its data', { companyId: 1, success: true, data: { id: 1 } }, 'entity'],
    ['data without an id', { companyId: '1', success: true, data: { isVip: true } }, 'entity'],
    ['a failure', { companyId: '1', success: false, error: 'bad' }, 'refused'],
    ['a failure without a reason', { companyId: 1, success: false }, 'refused'],
    ['a failure with a company', { ...good('1'), success: false }, 'unclear'],
    ['a success with an error', { ...good('1'), error: 'bad' }, 'unclear'],
    ['a success without a company', { companyId: '1', success: true }, 'unclear'],
    ['no word about success', { companyId: '1', data: { id: '1', isVip: true } }, 'unclear'],
    ['success as text', { ...good('1'), success: 'true' }, 'unclear'],
    ['the data of another company', { ...good('1'), data: { id: '2' } }, 'unclear'],
    ['no id', { success: true, data: { id: '1', isVip: true } }, 'unclear'],
    ['another id', good('9'), 'unclear'],
  ])('a result with %s', (_, result, kind) => {
    const answers = companyAnswers(['1', '2'], { status: 200, body: { results: [result, good('2')] } });
    expect(answers.get('1')?.kind).toBe(kind);
    expect(answers.get('2')).toEqual({ kind: 'entity', body: { id: '2', isVip: true } });
  });
});

describe('a read after the request', () => {
  const { wanted, before } = { wanted: { priority: 'high' }, before: { priority: 'low' } };
  const unclear = { answered: '200 without a topic', error: null };

  test.each<[string, Values, string, string, string | null]>([
    ['wanted', { priority: 'high' }, 'wanted', 'applied', null],
    ['before', { priority: 'low' }, 'before', 'failed', 'not_seen'],
    ['missing', {}, 'before', 'failed', 'not_seen'],
    ['other', { priority: 'default' }, 'other', 'conflict', 'conflict'],
  ])('with the %s value', (_, values, state, status, errorCode) => {
    expect(afterSending(change(wanted, before), read(values))).toBe(state);
    const settled = statusByReading(change(wanted, before), read(values), unclear);
    expect(settled).toMatchObject({ status, patch: { errorCode } });
    if (errorCode) expect(settled.patch.error).toContain('200 without a topic');
  });

  test('one of two fields with its wanted value, the other as before: failed, and the text names the second', () => {
    const both = change(
      { priority: 'high', lifecycle_state: 'open' },
      { priority: 'low', lifecycle_state: null },
    );
    const { status, patch } = statusByReading(
      both,
      read({ priority: 'high', lifecycle_state: null }),
      unclear,
    );
    expect(status).toBe('failed');
    expect(patch.error).toContain('lifecycle_state is still (none)');
    expect(patch.error).not.toContain('priority');
  });

  test('never applied unless every wanted value is shown; never a conflict with the values from before', () => {
    const values = fc.record({ priority: fc.constantFrom('low', 'high', 'default'), archived: fc.boolean() });
    fc.assert(
      fc.property(values, values, values, (want, was, now) => {
        const { status } = statusByReading(change(want, was), read(now), unclear);
        const isWanted = (name: 'priority' | 'archived') => now[name] === want[name];
        const isBefore = (name: 'priority' | 'archived') => now[name] === was[name];
        const names = ['priority', 'archived'] as const;
        expect(status === 'applied').toBe(names.every(isWanted));
        expect(status === 'conflict').toBe(names.some((name) => !isWanted(name) && !isBefore(name)));
      }),
    );
  });
});
