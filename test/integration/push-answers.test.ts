import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type PlainAnswer, PlainApi } from '../support/plain-api.js';
import type { Pulling } from '../support/pulling.js';
import { enqueue, type Pushed, push, queueOf, type Wish } from '../support/pushing.js';

/** What becomes of changes whose PATCH each test answers by hand. */

type Plain = Record<string, unknown>;
let api: PlainApi;
let pulling: Pulling<PlainApi>;
/** What arrived at PATCH /companies/bulk, and how it is answered. */
let bulk: { key: unknown; body: string }[];
let answerBulk: (companies: Plain[]) => PlainAnswer;

beforeEach(async () => {
  api = await PlainApi.start({
    topics: ['t1', 't2', 't3', 't4', 't5'].map((id) => ({ id, title: id, priority: 'low' })),
    companies: crowd(4),
  });
  pulling = api.pulling();
  pulling.tuning = { concurrency: 1 };
  bulk = [];
  answerBulk = (companies) => ({ body: { results: companies.map(applied) } });
  api.at(
    '/companies/bulk',
    ({ headers, body }) => {
      bulk.push({ key: headers['idempotency-key'], body });
      return answerBulk(JSON.parse(body).companies);
    },
    'PATCH',
  );
});
afterEach(() => api.stop());

const crowd = (size: number) =>
  Array.from({ length: size }, (_, at) => ({ id: `${at + 1}`, name: `Company ${at + 1}`, isVip: false }));

/** Applies one item of a bulk request, and returns the documented result. */
function applied({ companyId, ...fields }: Plain): Plain {
  const data = Object.assign(api.companies.find(({ id }) => id === companyId) ?? {}, fields);
  return { companyId, success: true, data };
}
const refusal = (status: number, code: string): PlainAnswer => ({
  status,
  body: { code, message: `about ${code}`, status, defined: true },
});

const raise = ({ id }: Plain): Wish => ({
  topic: String(id),
  wanted: { priority: 'high' },
  base: { priority: 'low' },
});
const makeVip = ({ id }: Plain): Wish => ({
  company: String(id),
  wanted: { is_vip: true },
  base: { is_vip: false },
});
const statuses = ({ report }: Pushed) =>
  Object.fromEntries(report.changes.map(({ entityId, status }) => [entityId, status]));

it('a PATCH that is answered with success is judged by a read after it, whatever the answer was', async () => {
  await enqueue(pulling.dataDir, api.topics.map(raise));
  const becoming = (id: string, priority: string, answer: PlainAnswer) =>
    api.at(
      `/topics/${id}`,
      () => {
        Object.assign(api.topics.find((one) => one.id === id) ?? {}, { priority });
        return answer;
      },
      'PATCH',
    );
  becoming('t1', 'low', { body: {} });
  becoming('t2', 'low', { status: 204, text: '' });
  becoming('t3', 'high', { body: { id: 't3' } });
  becoming('t4', 'very_low', { body: {} });
  const pushed = await push(pulling);
  expect(pushed.code).toBe(3);
  expect(statuses(pushed)).toEqual({
    t1: 'failed',
    t2: 'failed',
    t3: 'applied',
    t4: 'conflict',
    t5: 'applied',
  });
  expect(pushed.report.failed).toEqual({ total: 2, byReason: { not_seen: 2 } });
  const [t1, t2, , t4] = pushed.report.changes;
  for (const [change, status] of [
    [t1, '200'],
    [t2, '204'],
  ] as const) {
    expect(change?.error).toContain(status);
    expect(change?.error).toContain('priority is still low');
    expect(change?.remoteAfter).toEqual({ priority: 'low' });
  }
  expect(t4?.error).toContain('priority is now very_low');
  const sent = api.requests.filter((one) => one.startsWith('PATCH'));
  expect(sent.sort()).toEqual(api.topics.map(({ id }) => `PATCH /topics/${id}`));
});

it('a request that fails harms no other change: what cannot be read, and what is forbidden', async () => {
  api.topics.push({ id: 't6', priority: 'low' });
  const [one, two] = api.companies as [Plain, Plain];
  await enqueue(pulling.dataDir, [...api.topics.map(raise), makeVip(one), makeVip(two)]);
  api.at('/topics', refusal(400, 'BAD_REQUEST')).at('/topics/t2', refusal(410, 'GONE'));
  api.at('/topics/t3', { status: 500 }).at('/topics/t4', { body: [{ id: 't4' }] });
  api.at('/topics/t6', refusal(403, 'FORBIDDEN'), 'PATCH');
  answerBulk = () => refusal(403, 'FORBIDDEN');
  const pushed = await push(pulling);
  expect(pushed.code).toBe(3);
  expect(statuses(pushed)).toEqual({
    t1: 'applied',
    t2: 'failed',
    t3: 'queued',
    t4: 'queued',
    t5: 'applied',
    t6: 'failed',
    1: 'failed',
    2: 'failed',
  });
  expect(pushed.report.failed.byReason).toEqual({ GONE: 1, FORBIDDEN: 3 });
});

describe('PATCH /companies/bulk', () => {
  it.each([
    [400, 'BAD_REQUEST', { status: 'failed' }],
    [409, 'CONFLICT', { status: 'conflict', remoteBefore: { is_vip: false } }],
  ])(
    'has one company a request: what is answered %s for one harms no other',
    async (status, code, became) => {
      await enqueue(pulling.dataDir, api.companies.map(makeVip));
      answerBulk = (companies) =>
        companies.some(({ companyId }) => companyId === '3')
          ? refusal(status, code)
          : { body: { results: companies.map(applied) } };
      const pushed = await push(pulling);
      expect({ code: pushed.code, applied: pushed.report.applied }).toEqual({ code: 3, applied: 3 });
      const one = pushed.report.changes.find(({ entityId }) => entityId === '3');
      expect(one).toMatchObject({ errorCode: code, ...became });
      expect(bulk.every(({ body }) => JSON.parse(body).companies.length === 1)).toBe(true);
      // Another payload under a key that was used is what the API forbids.
      const keys = new Set(bulk.map(({ key }) => key));
      expect(new Set(bulk.map((each) => JSON.stringify(each))).size).toBe(keys.size);
    },
  );

  it('one refused, one unreadable, one unclear: each is settled for itself', async () => {
    const queued = await enqueue(pulling.dataDir, api.companies.map(makeVip));
    let isReadable = false;
    const isSent = (id: string) => bulk.some(({ body }) => body.includes(`"${id}"`));
    api.at('/companies/2', () => (!isSent('2') || isReadable ? undefined : refusal(400, 'BAD_REQUEST')));
    answerBulk = ([company]) => {
      const result = applied(company as Plain);
      if (result.companyId === '2') return { body: { results: [] } };
      if (result.companyId === '3') return { body: { results: [{ ...result, success: 'yes' }] } };
      if (result.companyId === '4') return { body: { results: [result] } };
      Object.assign(api.companies[0] ?? {}, { isVip: false });
      return { body: { results: [{ companyId: 1, success: false, error: 'domain taken' }] } };
    };
    const pushed = await push(pulling);
    expect(pushed.code).toBe(3);
    expect(statuses(pushed)).toEqual({ 1: 'failed', 2: 'sending', 3: 'applied', 4: 'applied' });
    expect(pushed.report.changes[0]).toMatchObject({ errorCode: 'refused_item', error: 'domain taken' });
    isReadable = true;
    const next = await push(pulling);
    expect({ code: next.code, ...statuses(next) }).toEqual({ code: 0, 2: 'applied' });
    expect(bulk).toHaveLength(4);
    const keys = (await queueOf(pulling.dataDir)).map(({ idempotencyKey }) => idempotencyKey);
    expect(keys).toEqual(queued.map(({ idempotencyKey }) => idempotencyKey));
  });
});

it('a refusal belongs to whoever caused it: of two people who change one topic, the other change is applied', async () => {
  const [topic] = api.topics as [Plain];
  const archive = { topic: String(topic.id), wanted: { lifecycle_state: 'completed' }, base: {} };
  await enqueue(pulling.dataDir, [raise(topic), archive]);
  const seen: Plain[] = [];
  api.at(
    `/topics/${topic.id}`,
    ({ body }) => {
      seen.push(JSON.parse(body));
      return 'lifecycleState' in JSON.parse(body)
        ? refusal(400, 'BAD_REQUEST')
        : { body: Object.assign(topic, JSON.parse(body)) };
    },
    'PATCH',
  );
  const pushed = await push(pulling);
  expect(pushed.report.changes.map(({ status }) => status)).toEqual(['applied', 'failed']);
  expect(seen).toEqual([
    { priority: 'high', lifecycleState: 'completed' },
    { priority: 'high' },
    { lifecycleState: 'completed' },
  ]);
});
