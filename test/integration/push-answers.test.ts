import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { enqueue, type Pushed, queueOf, reportOf, type Wish } from '../support/pushing.js';
import { json, type RawServer, rawServer, refuse, type Seen } from '../support/raw-server.js';
import { Folders, signalhouse } from '../support/signalhouse.js';

/** An API of topics and companies whose answers to a PATCH each test makes by hand. */
interface Entity {
  readonly id: string;
  [name: string]: unknown;
}
type Answer = (response: ServerResponse, seen: Seen) => void;

const folders = new Folders();
let server: RawServer;
let dataDir: string;
let topics: Map<string, Entity>;
let companies: Map<string, Entity>;
/** Answers by method and path, before the ordinary ones. */
let answers: Map<string, Answer>;

beforeEach(async () => {
  dataDir = join(folders.make(), 'data');
  topics = new Map(['t1', 't2', 't3', 't4', 't5'].map((id) => [id, { id, title: id, priority: 'low' }]));
  companies = new Map(['1', '2', '3', '4'].map((id) => [id, { id, name: `Company ${id}`, isVip: false }]));
  answers = new Map();
  settings({});
  server = await rawServer((response, seen) => {
    const path = seen.url.pathname.slice('/v1'.length);
    const answer = answers.get(`${seen.method} ${path}`) ?? answers.get(`${seen.method} *`);
    if (answer) return answer(response, seen);
    if (path === '/whoami') return json(response, 200, { organization: { id: 'o1', name: 'Acme' } });
    const [, list, id = ''] = path.split('/');
    const entities = list === 'topics' ? topics : companies;
    if (seen.method === 'PATCH' && list === 'topics') apply(topics, id, JSON.parse(seen.body));
    if (seen.method === 'PATCH' && list === 'companies')
      return json(response, 200, { results: applyAll(seen) });
    const entity = entities.get(id);
    if (id === '') {
      const data = [...entities.values()];
      return json(response, 200, { data, page: 1, limit: 100, totalCount: data.length });
    }
    return entity ? json(response, 200, entity) : refuse(response, 404, 'NOT_FOUND');
  });
});
afterEach(async () => {
  await server.close();
  folders.remove();
});

function apply(entities: Map<string, Entity>, id: string, fields: object): Entity {
  const after = { ...entities.get(id), ...fields, id };
  entities.set(id, after);
  return after;
}

/** Applies a bulk request, and returns the documented results. */
function applyAll({
  body,
}: Seen): { companyId: unknown; success?: unknown; data?: unknown; error?: unknown }[] {
  const { companies: items } = JSON.parse(body) as { companies: { companyId: string }[] };
  return items.map(({ companyId, ...fields }) => ({
    companyId,
    success: true,
    data: apply(companies, companyId, fields),
  }));
}

function settings(api: object): void {
  const hasty = { concurrency: 1, retry: { attempts: 2, baseMs: 1, maxMs: 2 } };
  writeFileSync(`${dataDir}.yaml`, stringify({ api: { ...hasty, ...api }, warehouse: { threads: 1 } }));
}

async function push(): Promise<Pushed> {
  const env = {
    SIGNALHOUSE_BASE_URL: server.baseUrl,
    SIGNALHOUSE_API_KEY: 'k',
    SIGNALHOUSE_DATA_DIR: dataDir,
    SIGNALHOUSE_RATE_LIMIT_REQUESTS: '100000',
    SIGNALHOUSE_RATE_LIMIT_WINDOW_MS: '1000',
    SIGNALHOUSE_LOG_LEVEL: 'warn',
    SIGNALHOUSE_CONFIG: `${dataDir}.yaml`,
  };
  return reportOf(await signalhouse(['push', '--json'], { env }));
}

const raiseTopic = (topic: string): Wish => ({
  topic,
  wanted: { priority: 'high' },
  base: { priority: 'low' },
});
const makeVip = (company: string): Wish => ({ company, wanted: { is_vip: true }, base: { is_vip: false } });

const statuses = ({ report }: Pushed) =>
  Object.fromEntries(report.changes.map(({ entityId, status }) => [entityId, status]));
const requestsTo = (method: string, path: string) =>
  server.requests.filter((one) => one.method === method && one.url.pathname === `/v1${path}`);

const noContent: Answer = (response) => void response.writeHead(204).end();

describe('a PATCH that is answered with success', () => {
  it('is failed when neither the answer nor a read after it shows the change', async () => {
    await enqueue(dataDir, ['t1', 't2', 't3', 't4', 't5'].map(raiseTopic));
    answers.set('PATCH /topics/t1', (response) => json(response, 200, {}));
    answers.set('PATCH /topics/t2', noContent);
    answers.set('PATCH /topics/t3', (response) => json(response, 200, { id: 't3', title: 't3' }));
    answers.set('PATCH /topics/t4', (response) => json(response, 200, topics.get('t4')));
    const pushed = await push();
    expect(pushed.code).toBe(3);
    expect(statuses(pushed)).toEqual({
      t1: 'failed',
      t2: 'failed',
      t3: 'failed',
      t4: 'failed',
      t5: 'applied',
    });
    expect(pushed.report.failed).toEqual({ total: 4, byReason: { not_seen: 4 } });
    for (const { entityId, error, remoteAfter } of pushed.report.changes) {
      if (entityId === 't5') continue;
      expect(error).toContain(entityId === 't2' ? '204' : '200');
      expect(error).toContain('priority is still low');
      expect(remoteAfter).toEqual({ priority: 'low' });
    }
  });

  it('is applied when a read after it shows the change, whatever the answer was', async () => {
    await enqueue(dataDir, ['t1', 't2', 't3', 't4', 't5'].map(raiseTopic));
    const applied = (id: string, answer: (response: ServerResponse, before: unknown) => void) =>
      answers.set(`PATCH /topics/${id}`, (response, { body }) => {
        const before = topics.get(id);
        apply(topics, id, JSON.parse(body));
        answer(response, before);
      });
    applied('t1', (response) => json(response, 200, {}));
    applied('t2', (response) => void response.writeHead(204).end());
    applied('t3', (response) => json(response, 200, { id: 't3' }));
    applied('t4', (response, before) => json(response, 200, before));
    applied('t5', (response) => json(response, 200, { ...topics.get('t5'), id: 'another', priority: 'low' }));
    const pushed = await push();
    expect({ code: pushed.code, applied: pushed.report.applied }).toEqual({ code: 0, applied: 5 });
    for (const id of topics.keys()) expect(requestsTo('PATCH', `/topics/${id}`)).toHaveLength(1);
  });

  it('is a conflict when a read after it shows a third value', async () => {
    await enqueue(dataDir, [raiseTopic('t1')]);
    answers.set('PATCH /topics/t1', (response) => {
      apply(topics, 't1', { priority: 'very_low' });
      json(response, 200, {});
    });
    const pushed = await push();
    expect({ code: pushed.code, ...statuses(pushed) }).toEqual({ code: 3, t1: 'conflict' });
    expect(pushed.report.changes[0]?.error).toContain('priority is very_low in the API');
  });

  it('stays sending while the topic cannot be read, and the next push settles it under the same key', async () => {
    const [change] = await enqueue(dataDir, [raiseTopic('t1'), raiseTopic('t2')]);
    answers.set('PATCH /topics/t1', (response, { body }) => {
      apply(topics, 't1', JSON.parse(body));
      answers.set('GET /topics/t1', (again) => refuse(again, 400, 'BAD_REQUEST'));
      response.writeHead(204).end();
    });
    const pushed = await push();
    expect({ code: pushed.code, ...statuses(pushed) }).toEqual({ code: 3, t1: 'sending', t2: 'applied' });
    expect(pushed.report.changes[0]).toMatchObject({ errorCode: 'not_read' });
    answers.clear();
    const next = await push();
    expect({ code: next.code, ...statuses(next) }).toEqual({ code: 0, t1: 'applied' });
    expect(requestsTo('PATCH', '/topics/t1').map(({ headers }) => headers['idempotency-key'])).toEqual([
      change?.idempotencyKey,
    ]);
  });
});

describe('a request that fails', () => {
  it('harms no other change: a topic or a list that cannot be read', async () => {
    await enqueue(dataDir, ['t1', 't2', 't3', 't4', 't5'].map(raiseTopic));
    answers.set('GET /topics', (response) => refuse(response, 400, 'BAD_REQUEST'));
    answers.set('GET /topics/t2', (response) => refuse(response, 410, 'GONE'));
    answers.set('GET /topics/t3', (response) => response.writeHead(500).end());
    answers.set('GET /topics/t4', (response) => json(response, 200, [{ id: 't4' }]));
    const pushed = await push();
    expect(pushed.code).toBe(3);
    expect(statuses(pushed)).toEqual({
      t1: 'applied',
      t2: 'failed',
      t3: 'queued',
      t4: 'queued',
      t5: 'applied',
    });
    expect(pushed.report.changes.map(({ errorCode }) => errorCode)).toEqual([
      ...[null, 'GONE', 'not_read', 'not_read', null],
    ]);
    answers.clear();
    const next = await push();
    expect({ code: next.code, ...statuses(next) }).toEqual({ code: 0, t3: 'applied', t4: 'applied' });
  });
});

describe('403', () => {
  it('to the PATCH of one topic, or of all companies, fails those changes only', async () => {
    await enqueue(dataDir, [...['t1', 't2', 't3'].map(raiseTopic), makeVip('1'), makeVip('2')]);
    answers.set('PATCH /topics/t1', (response) => refuse(response, 403, 'FORBIDDEN'));
    answers.set('PATCH /companies/bulk', (response) => refuse(response, 403, 'FORBIDDEN'));
    const pushed = await push();
    expect(pushed.code).toBe(3);
    const failed = { t1: 'failed', 1: 'failed', 2: 'failed' };
    expect(statuses(pushed)).toEqual({ ...failed, t2: 'applied', t3: 'applied' });
    expect(pushed.report.failed.byReason).toEqual({ FORBIDDEN: 3 });
  });
});

describe('an outage', () => {
  /** From the second PATCH on, every request is answered 503 until `up` is called. */
  function goDown(): { up: () => void; keys: Map<string, unknown> } {
    const keys = new Map<string, unknown>();
    const refused: Answer = (response) => response.writeHead(503).end();
    answers.set('PATCH *', (response, seen) => {
      const id = seen.url.pathname.split('/').at(-1) as string;
      if (keys.size > 0) {
        for (const method of ['GET', 'PATCH']) answers.set(`${method} *`, refused);
        for (const one of ['t1', 't2', 't3', 't4', 't5', '']) answers.set(`GET /topics/${one}`, refused);
        return refused(response, seen);
      }
      keys.set(id, seen.headers['idempotency-key']);
      json(response, 200, apply(topics, id, JSON.parse(seen.body)));
    });
    return { up: () => answers.clear(), keys };
  }

  it('is waited for: the push goes on where it was', async () => {
    settings({ outageMinutes: 2 });
    await enqueue(dataDir, [...topics.keys()].map(raiseTopic));
    const { up } = goDown();
    const pushing = push();
    while (!requestsTo('GET', '/whoami').at(1)) await delay(20);
    up();
    const { code, report } = await pushing;
    expect({ code, applied: report.applied }).toEqual({ code: 0, applied: 5 });
    expect(report.notes.join()).toContain('the API was unavailable for');
  });

  it('longer than api.outageMinutes ends the push; the next push continues with the same keys', async () => {
    settings({ outageMinutes: 0.02 });
    const queued = await enqueue(dataDir, [...topics.keys()].map(raiseTopic));
    const { up } = goDown();
    const { code, report } = await push();
    expect({ code, outcome: report.outcome, applied: report.applied }).toEqual({
      ...{ code: 1, outcome: 'failed', applied: 1 },
    });
    expect(report.left).toMatchObject({ queued: 3, sending: 1 });
    up();
    const next = await push();
    expect({ code: next.code, applied: next.report.applied }).toEqual({ code: 0, applied: 4 });
    for (const { entityId, idempotencyKey } of queued) {
      const sent = requestsTo('PATCH', `/topics/${entityId}`).map(
        ({ headers }) => headers['idempotency-key'],
      );
      expect(new Set(sent)).toEqual(new Set([idempotencyKey]));
    }
  });
});

describe('PATCH /companies/bulk', () => {
  const all = ['1', '2', '3', '4'];
  const bulk = (edit: (results: ReturnType<typeof applyAll>) => unknown) =>
    answers.set('PATCH /companies/bulk', (response, seen) => json(response, 200, edit(applyAll(seen))));

  it.each<[string, (results: ReturnType<typeof applyAll>) => unknown]>([
    [
      'a numeric id',
      (results) => ({ results: results.map((one, at) => (at ? one : { ...one, companyId: 1 })) }),
    ],
    ['missing results', (results) => ({ results: results.slice(2) })],
    ['no results', () => ({ results: [] })],
    [
      'results of others',
      (results) => ({ results: [{ companyId: '77', success: false }, 7, null, ...results] }),
    ],
    ['another order', (results) => ({ results: results.toReversed() })],
    ['no word about success', (results) => ({ results: results.map(({ success, ...one }) => one) })],
    ['no companies', (results) => ({ results: results.map(({ data, ...one }) => one) })],
    ['a list of companies instead', (results) => results.map(({ data }) => data)],
    ['an object without results', () => ({ updated: 4 })],
  ])('that applies all and answers with %s: all are applied, and sent once', async (_, edit) => {
    await enqueue(dataDir, all.map(makeVip));
    bulk(edit);
    const pushed = await push();
    expect(statuses(pushed)).toEqual({ 1: 'applied', 2: 'applied', 3: 'applied', 4: 'applied' });
    expect(pushed.code).toBe(0);
    expect(requestsTo('PATCH', '/companies/bulk')).toHaveLength(1);
  });

  it('that answers 204 and applies one: only that one is applied', async () => {
    await enqueue(dataDir, all.map(makeVip));
    answers.set('PATCH /companies/bulk', (response) => {
      apply(companies, '3', { isVip: true });
      response.writeHead(204).end();
    });
    const pushed = await push();
    expect(statuses(pushed)).toEqual({ 1: 'failed', 2: 'failed', 3: 'applied', 4: 'failed' });
    expect(pushed.report.failed.byReason).toEqual({ not_seen: 3 });
    expect(pushed.report.changes[0]?.error).toContain('is_vip is still false');
  });

  it('one refused, one unreadable, one unclear: each is settled for itself', async () => {
    const queued = await enqueue(dataDir, all.map(makeVip));
    answers.set('PATCH /companies/bulk', (response, seen) => {
      const [, second, , fourth] = applyAll(seen);
      companies.set('1', { ...companies.get('1'), id: '1', isVip: false });
      answers.set('GET /companies/2', (again) => refuse(again, 400, 'BAD_REQUEST'));
      const refused = { companyId: 1, success: false, error: 'domain taken' };
      json(response, 200, { results: [fourth, refused, { ...second, success: 'yes' }] });
    });
    const pushed = await push();
    expect(pushed.code).toBe(3);
    expect(statuses(pushed)).toEqual({ 1: 'failed', 2: 'sending', 3: 'applied', 4: 'applied' });
    expect(pushed.report.changes[0]).toMatchObject({ errorCode: 'refused_item', error: 'domain taken' });
    answers.clear();
    const next = await push();
    expect({ code: next.code, ...statuses(next) }).toEqual({ code: 0, 2: 'applied' });
    expect(requestsTo('PATCH', '/companies/bulk')).toHaveLength(1);
    expect(new Set((await queueOf(dataDir)).map(({ idempotencyKey }) => idempotencyKey))).toEqual(
      new Set([queued[0]?.idempotencyKey]),
    );
  });
});
