import { describe, expect, test } from 'vitest';
import { answerAbout } from '../../../src/push/answer.js';
import type { EntityType } from '../../../src/push/fields.js';
import { shows } from '../../../src/push/resolve.js';

const about = (entityType: EntityType, entityId: string) => ({ entityType, entityId });

describe('the answer to a PATCH of a topic', () => {
  test.each([
    [200, {}],
    [204, null],
    [200, []],
    [200, 'ok'],
    [200, { id: 'other', priority: 'high' }],
    [200, { priority: 'high' }],
  ])('is unclear: %i %j', (status, body) => {
    expect(answerAbout(about('topic', 't1'), {}, { status, body })).toMatchObject({ kind: 'unclear' });
  });

  test('is the topic when it has its id, as text or as a number', () => {
    expect(answerAbout(about('topic', '17'), {}, { status: 200, body: { id: 17 } })).toEqual({
      kind: 'entity',
      body: { id: 17 },
    });
    expect(answerAbout(about('topic', '17'), {}, { status: 200, body: { id: '17' } })).toMatchObject({
      kind: 'entity',
    });
  });

  test('a field that it leaves out is not shown, even if it should be empty', () => {
    expect(shows({ archived_reason: null }, {})).toBe(false);
    expect(shows({ archived_reason: null }, { archived_reason: '' })).toBe(true);
    expect(shows({ priority: 'high' }, { priority: 'low' })).toBe(false);
    expect(shows({ archived_reason: 'a\r\nb' }, { archived_reason: 'a\nb' })).toBe(true);
  });
});

test('the answer to a merge of people counts who was merged; anything else is unclear', () => {
  const merge = (body: unknown) =>
    answerAbout(about('person', '1'), { merged_into_id: '2' }, { status: 200, body });
  expect(merge({ mergedCount: 1 })).toEqual({ kind: 'entity', body: { mergedIntoId: '2' } });
  expect(merge({ mergedCount: 0 }).kind).toBe('refused');
  for (const body of [{}, null, { mergedCount: '1' }]) expect(merge(body).kind).toBe('unclear');
});

describe('the answer to PATCH /companies/bulk', () => {
  const good = (id: string) => ({ companyId: id, success: true, data: { id, isVip: true }, error: null });

  test.each([null, [], {}, { results: {} }, { results: null }, 'ok'])('%j is unclear', (body) => {
    expect(answerAbout(about('company', '1'), {}, { status: 200, body }).kind).toBe('unclear');
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
    const answer = { status: 200, body: { results: [result, good('2')] } };
    expect(answerAbout(about('company', '1'), {}, answer).kind).toBe(kind);
    const other = { kind: 'entity', body: { id: '2', isVip: true } };
    expect(answerAbout(about('company', '2'), {}, answer)).toEqual(other);
  });
});
