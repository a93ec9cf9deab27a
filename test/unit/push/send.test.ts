import { expect, it } from 'vitest';
import { arrivalNow, type Clock, systemClock } from '../../../src/base/clock.js';
import { ContractError, RejectedError } from '../../../src/base/errors.js';
import { silentLog } from '../../../src/base/log.js';
import type { Change } from '../../../src/push/change.js';
import { CircuitBreaker, LatestTimes, type PushContext } from '../../../src/push/context.js';
import type { Values } from '../../../src/push/fields.js';
import { Queue } from '../../../src/push/queue.js';
import { readEntity } from '../../../src/push/remote.js';
import { AttemptLog, queuedById, Sender } from '../../../src/push/send.js';
import { emptyDir } from '../../support/open-warehouse.js';
import { newChange } from '../../support/pushing.js';

/** The queue of a directory without a warehouse. */
const store = { all: async () => [], transaction: async () => undefined as never };
const queueAt = (clock: Pick<Clock, 'now'>) => Queue.open(store, { dataDir: emptyDir() }, clock as Clock);

function contextOf(queue: Queue, clock: object, call: unknown, requests = 120): PushContext {
  return {
    api: { outages: 0, concurrency: 1, call },
    clock,
    queue,
    store,
    log: silentLog,
    notes: [],
    stop: new AbortController().signal,
    config: { rateLimit: { requests, windowMs: 60_000 } },
    observer: { phase() {}, progress() {}, phaseEnd() {}, note() {} },
    batcher: { add: async () => undefined },
    onConflict: 'report',
    storedCounts: { topic: queue.all().length, company: 0 },
    circuitBreaker: new CircuitBreaker(),
    latest: new LatestTimes(),
  } as unknown as PushContext;
}

/** A push of a queue to an API whose requests take their time in the budget, and those that change something perhaps more. */
async function pushOf(topics: number, requestsAMinute: number, patchMs = 60_000 / requestsAMinute) {
  let now = 0;
  const clock = { now: () => now, monotonic: () => now, sleep: async () => undefined };
  const requests: string[] = [];
  const times: number[] = [];
  const archived = new Set<string>();
  const answer = async (method: string, id: string) => {
    // What is read after it was sent, because these answers are no whole topics, takes no time.
    if (method === 'PATCH') now += patchMs;
    else if (!archived.has(id)) now += 60_000 / requestsAMinute;
    requests.push(`${method} ${id}`);
    times.push(now);
    if (method === 'PATCH') archived.add(id);
    const body = { id, archivedAt: archived.has(id) ? '2026-11-20T10:00:00.000Z' : null };
    return { body, status: 200, arrivedAt: arrivalNow(clock), bytes: 100 };
  };
  const request = (endpoint: string, { params }: { params: { topicId: string } }) =>
    answer(endpoint === 'topic' ? 'GET' : 'PATCH', params.topicId);
  const queue = await queueAt(clock);
  const wish = (at: number) =>
    newChange({ topic: `t${at}`, wanted: { archived: true }, base: { archived: false } });
  queue.add(Array.from({ length: topics }, (_, at) => wish(at)));
  const context = contextOf(queue, clock, request, requestsAMinute);
  await new Sender(context, new AttemptLog()).sendQueued('topic');
  return { queue, requests, times };
}

it('topics that are read one by one are sent while what was read is fresh, and not read again before', async () => {
  const { queue, requests } = await pushOf(25, 4);
  expect(queue.all().map(({ status }) => status)).toEqual(Array.from({ length: 25 }, () => 'applied'));
  for (let at = 0; at < 25; at += 1) {
    const sent = requests.indexOf(`PATCH t${at}`);
    expect(requests.slice(0, sent).filter((one) => one === `GET t${at}`)).toHaveLength(1);
  }
});

it('what was read too long ago is read again before it is sent', async () => {
  const patchMs = 50_000;
  const { queue, requests, times } = await pushOf(10, 4, patchMs);
  expect(queue.all().map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 'applied'));
  // Reading all ten takes 150 seconds, and what was read then counts for as long.
  for (const [sent, request] of requests.entries())
    if (request.startsWith('PATCH')) {
      const read = requests.lastIndexOf(request.replace('PATCH', 'GET'), sent);
      expect((times[sent] ?? 0) - patchMs - (times[read] ?? 0)).toBeLessThan(300_000);
    }
});

it.each([
  ['Kim', 'applied'],
  ['Lee', 'conflict'],
])('what Kim wants after a change of %s that was in doubt is %s', async (person, status) => {
  const queue = await queueAt(systemClock);
  let priority = 'high';
  const call = async (endpoint: string, { body }: { body?: { priority: string } }) => {
    if (endpoint !== 'topic') priority = body?.priority ?? '';
    return { body: { id: 't', priority }, status: 200, arrivedAt: arrivalNow(systemClock), bytes: 100 };
  };
  const wish = (to: string, requestedBy: string) => {
    const seen = newChange({ topic: 't', wanted: { priority: to }, base: { priority: 'default' } });
    return { ...seen, baseFrom: 'warehouse' as const, requestedBy };
  };
  const sent = queue.move(queue.add([wish('high', person)]), 'sending');
  queue.add([wish('low', 'Kim')]);
  queue.move(sent, 'applied');
  await new Sender(contextOf(queue, systemClock, call), new AttemptLog()).sendQueued('topic');
  expect(queue.all().map((change) => change.status)).toEqual(['applied', status]);
});

it.each([
  ['', 'applied, and a read does not: somebody changed it back, or the server that was read lags behind;'],
  ['and changed back', 'applied, and changed after that;'],
])(
  'a company that is read as before, and whose history says that it was set %s, is told so',
  async (back, told) => {
    const queue = await queueAt(systemClock);
    const record = (changedAt: string, to: boolean) => ({
      changedAt,
      changes: { isVip: to },
      previousValues: { isVip: !to },
    });
    const set = record('2026-11-20T10:00:10.000Z', true);
    const history = back === '' ? [set] : [record('2026-11-20T10:00:20.000Z', false), set];
    const call = async (endpoint: string) => {
      const body =
        endpoint === 'company_history' ? { history, totalCount: history.length } : { id: '1', isVip: false };
      return { body, status: 200, arrivedAt: arrivalNow(systemClock), bytes: 100 };
    };
    const wish = newChange({ wanted: { is_vip: true }, base: { is_vip: false } });
    const added = queue.add([{ ...wish, entityType: 'company', entityId: '1' }]);
    const sentAt = '2026-11-20T10:00:09.000Z';
    queue.move(added, 'sending', {
      body: '{}',
      firstSentAt: sentAt,
      sentAt,
      remoteBefore: { is_vip: false },
    });
    await new Sender(contextOf(queue, systemClock, call), new AttemptLog()).resume();
    expect(queue.all()[0]).toMatchObject({ status: 'conflict', error: expect.stringContaining(told) });
  },
);

it('a connection is not set where another one has a value that cannot be sent back', async () => {
  const queue = await queueAt(systemClock);
  const asked: string[] = [];
  const call = async (endpoint: string) => {
    asked.push(endpoint);
    const body = { id: '1', connections: { email: 'a@b.example', github: 7, phone: null } };
    return { body, status: 200, arrivedAt: arrivalNow(systemClock), bytes: 100 };
  };
  const [wanted, base] = ['c', 'a'].map((name) => ({ connections_email: `${name}@b.example` }));
  queue.add([newChange({ company: '1', wanted: wanted as Values, base: base as Values })]);
  await new Sender(contextOf(queue, systemClock, call), new AttemptLog()).sendQueued('company');
  expect(queue.all()[0]).toMatchObject({ status: 'failed', errorCode: 'unknown_connections' });
  expect(queue.all()[0]?.error).toContain('(github)');
  expect(asked).toEqual(['company']);
});

it('connections are set where an earlier answer has shown that the API keeps those that a request leaves out', async () => {
  const queue = await queueAt(systemClock);
  const slack = { 1: false, 2: true };
  const bodies: unknown[] = [];
  const connections = (id: '1' | '2') => ({ github: 'acme', ...(slack[id] && { slack: 'T1' }) });
  const call = async (
    endpoint: string,
    { params, body }: { params?: { companyId: '1' | '2' }; body?: { companies: [{ companyId: '1' | '2' }] } },
  ) => {
    const id = params?.companyId ?? body?.companies[0].companyId ?? '1';
    if (endpoint === 'update_companies') {
      bodies.push(body);
      // A colleague connects it meanwhile.
      slack[id] = true;
    }
    const data = { id, connections: { ...connections(id), email: bodies.length > 0 ? 'c@b.example' : null } };
    const answer = endpoint === 'company' ? data : { results: [{ companyId: id, success: true, data }] };
    return { body: answer, status: 200, arrivedAt: arrivalNow(systemClock), bytes: 100 };
  };
  const wanted = { connections_email: 'c@b.example' };
  const send = () => new Sender(contextOf(queue, systemClock, call), new AttemptLog()).sendQueued('company');
  queue.add([newChange({ company: '1', wanted, base: {} })]);
  await send();
  bodies.length = 0;
  queue.add([newChange({ company: '2', wanted, base: {} })]);
  await send();
  expect(queue.all().map(({ status }) => status)).toEqual(['applied', 'applied']);
  expect(bodies).toEqual([
    { companies: [{ companyId: '2', connections: { github: 'acme', email: 'c@b.example' } }] },
  ]);
});

it.each([
  ['is applied where a read between them shows it', 2, 'applied', 2],
  ['is a conflict after the last one', 9, 'conflict', 4],
])('what is answered 409 again and again %s', async (_, appliedAfter, status, attempts) => {
  const queue = await queueAt(systemClock);
  const patched: string[] = [];
  const call = async (endpoint: string, { idempotencyKey = '' }: { idempotencyKey?: string }) => {
    const priority = patched.length < appliedAfter ? 'default' : 'high';
    if (endpoint === 'topic')
      return { body: { id: 't', priority }, status: 200, arrivedAt: arrivalNow(systemClock), bytes: 9 };
    patched.push(idempotencyKey);
    const where = { endpoint, method: 'PATCH', path: '/topics/t' };
    throw new RejectedError('in progress', where, 409, 'CONFLICT', undefined);
  };
  const context = contextOf(queue, { ...systemClock, sleep: async () => undefined }, call);
  Object.assign(context.api, { retry: { attempts: 3, maxMs: 1, baseMs: 1 } });
  queue.add([newChange({ topic: 't', wanted: { priority: 'high' }, base: { priority: 'default' } })]);
  await new Sender(context, new AttemptLog()).sendQueued('topic');
  expect(queue.all()).toMatchObject([{ status }]);
  expect(patched).toEqual(Array(attempts).fill(queue.all()[0]?.idempotencyKey));
});

it('a company waits for an answer about itself, and not for a topic with the same id', () => {
  const changes = [
    { entityType: 'topic', entityId: '1', status: 'sending' },
    { entityType: 'topic', entityId: '1', status: 'queued' },
    { entityType: 'company', entityId: '1', status: 'queued' },
  ] as Change[];
  expect([...queuedById(changes, 'company').keys()]).toEqual(['1']);
  expect(queuedById(changes, 'topic').size).toBe(0);
});

it('a read that is older than what was seen before compares nothing', async () => {
  const queue = await queueAt(systemClock);
  const times = ['2026-03-02T00:00:00.000Z', '2026-03-01T00:00:00.000Z'];
  const call = async () => {
    const body = { id: 't', priority: 'low', updatedAt: times.shift() };
    return { body, status: 200, arrivedAt: arrivalNow(systemClock), bytes: 10 };
  };
  const context = contextOf(queue, systemClock, call);
  const change = { entityType: 'topic', entityId: 't', wanted: {} } as const;
  expect(await readEntity(context, change)).toMatchObject({ values: { priority: 'low' } });
  expect(await readEntity(context, change)).toMatchObject({ problem: { code: 'older_answer' } });
});

it('an endpoint is broken by failures in a row, and not by as many among good answers', async () => {
  let asked = 0;
  const call = async () => {
    asked += 1;
    if (asked % 2)
      throw new ContractError('no topic', { endpoint: 'topic', method: 'GET', path: '/topics/1' });
    return { body: { id: '1' }, status: 200, arrivedAt: arrivalNow(systemClock), bytes: 10 };
  };
  const circuitBreaker = new CircuitBreaker();
  const batcher = { add: async () => undefined };
  const latest = new LatestTimes();
  const context = { api: { call }, circuitBreaker, batcher, latest } as unknown as PushContext;
  const change = { entityType: 'topic', entityId: '1', wanted: {} } as const;
  for (let at = 0; at < 30; at += 1) await readEntity(context, change);
  expect(circuitBreaker.isOpen('topic')).toBe(false);
});
