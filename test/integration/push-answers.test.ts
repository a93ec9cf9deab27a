import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { enqueue, type Pushed, queueOf, reportOf, type Wish } from '../support/pushing.js';
import { json, type RawServer, rawServer, refuse, type Seen } from '../support/raw-server.js';
import { signalhouse } from '../support/signalhouse.js';
import { testFolder } from '../support/test-folders.js';

/** An API of topics and companies whose answers to a PATCH each test makes by hand. */
interface Entity {
  readonly id: string;
  [name: string]: unknown;
}
type Answer = (response: ServerResponse, seen: Seen) => void;

let server: RawServer;
let dataDir: string;
let topics: Map<string, Entity>;
let companies: Map<string, Entity>;
/** Answers by method and path, before the ordinary ones. */
let answers: Map<string, Answer>;

beforeEach(async () => {
  dataDir = join(testFolder(), 'data');
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
  writeFileSync(`${dataDir}.yaml`, stringify({ api }));
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
  return reportOf(await signalhouse(['push', '--json'], { env, tuning: { concurrency: 1 } }));
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

describe('a PATCH that is answered with success', () => {
  it('is judged by a read after it, whatever the answer was', async () => {
    await enqueue(dataDir, ['t1', 't2', 't3', 't4', 't5'].map(raiseTopic));
    const becoming = (id: string, priority: string, answer: (response: ServerResponse) => void) =>
      answers.set(`PATCH /topics/${id}`, (response) => {
        apply(topics, id, { priority });
        answer(response);
      });
    becoming('t1', 'low', (response) => json(response, 200, {}));
    becoming('t2', 'low', (response) => void response.writeHead(204).end());
    becoming('t3', 'high', (response) => json(response, 200, { id: 't3' }));
    becoming('t4', 'very_low', (response) => json(response, 200, {}));
    const pushed = await push();
    expect(pushed.code).toBe(3);
    const [t1, t2, t4] = [0, 1, 3].map((at) => pushed.report.changes[at]);
    expect(statuses(pushed)).toEqual({
      ...{ t1: 'failed', t2: 'failed', t3: 'applied', t4: 'conflict', t5: 'applied' },
    });
    expect(pushed.report.failed).toEqual({ total: 2, byReason: { not_seen: 2 } });
    for (const [change, status] of [
      [t1, '200'],
      [t2, '204'],
    ] as const) {
      expect(change?.error).toContain(status);
      expect(change?.error).toContain('priority is still low');
      expect(change?.remoteAfter).toEqual({ priority: 'low' });
    }
    expect(t4?.error).toContain('priority is now very_low');
    for (const id of topics.keys()) expect(requestsTo('PATCH', `/topics/${id}`)).toHaveLength(1);
  });
});

describe('a request that fails', () => {
  it('harms no other change: a topic or a list that cannot be read, a change that is forbidden', async () => {
    topics.set('t6', { id: 't6', priority: 'low' });
    await enqueue(dataDir, [...[...topics.keys()].map(raiseTopic), makeVip('1'), makeVip('2')]);
    answers.set('GET /topics', (response) => refuse(response, 400, 'BAD_REQUEST'));
    answers.set('GET /topics/t2', (response) => refuse(response, 410, 'GONE'));
    answers.set('GET /topics/t3', (response) => response.writeHead(500).end());
    answers.set('GET /topics/t4', (response) => json(response, 200, [{ id: 't4' }]));
    answers.set('PATCH /topics/t6', (response) => refuse(response, 403, 'FORBIDDEN'));
    answers.set('PATCH /companies/bulk', (response) => refuse(response, 403, 'FORBIDDEN'));
    const pushed = await push();
    expect(pushed.code).toBe(3);
    expect(statuses(pushed)).toEqual({
      ...{ t1: 'applied', t2: 'failed', t3: 'queued', t4: 'queued', t5: 'applied', t6: 'failed' },
      ...{ 1: 'failed', 2: 'failed' },
    });
    expect(pushed.report.failed.byReason).toEqual({ GONE: 1, FORBIDDEN: 3 });
  });
});

describe('PATCH /companies/bulk', () => {
  const all = ['1', '2', '3', '4'];

  /** Refuses every request with one of these companies as a whole, and applies the others. */
  const refuseWith = (bad: readonly string[], status = 400, code = 'BAD_REQUEST') =>
    answers.set('PATCH /companies/bulk', (response, seen) => {
      const ids = (JSON.parse(seen.body) as { companies: { companyId: string }[] }).companies;
      if (ids.some(({ companyId }) => bad.includes(companyId))) return refuse(response, status, code);
      json(response, 200, { results: applyAll(seen) });
    });
  /** The bodies that were sent under each Idempotency-Key. */
  const bodiesByKey = () => {
    const bodies = new Map<unknown, Set<string>>();
    for (const { headers, body } of requestsTo('PATCH', '/companies/bulk')) {
      const key = headers['idempotency-key'];
      bodies.set(key, (bodies.get(key) ?? new Set()).add(body));
    }
    return bodies;
  };
  const crowd = (size: number) => {
    companies = new Map(
      Array.from({ length: size }, (_, at) => [`${at + 1}`, { id: `${at + 1}`, isVip: false }]),
    );
    return [...companies.keys()];
  };

  it.each([
    [400, 'BAD_REQUEST', 'failed'],
    [409, 'CONFLICT', 'conflict'],
  ])(
    'that is answered %s for one of its companies: the others are sent without it',
    async (status, code, became) => {
      const ids = crowd(20);
      await enqueue(dataDir, ids.map(makeVip));
      refuseWith(['7'], status, code);
      const pushed = await push();
      expect({ code: pushed.code, applied: pushed.report.applied }).toEqual({ code: 3, applied: 19 });
      const one = pushed.report.changes.find(({ entityId }) => entityId === '7');
      expect(one).toMatchObject({ status: became, errorCode: code });
      const sent = requestsTo('PATCH', '/companies/bulk');
      expect(sent.length).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(20)) + (status === 409 ? 4 : 1));
      if (status === 400) expect(bodiesByKey().size).toBe(sent.length);
      // Another payload under a key that was used is what the API forbids.
      for (const bodies of bodiesByKey().values()) expect(bodies.size).toBe(1);
    },
  );

  it('that is refused whatever is in it: all fail, after few requests', async () => {
    const ids = crowd(40);
    await enqueue(dataDir, ids.map(makeVip));
    refuseWith(ids);
    const pushed = await push();
    expect(pushed.report.failed).toEqual({ total: 40, byReason: { BAD_REQUEST: 40 } });
    expect(requestsTo('PATCH', '/companies/bulk').length).toBeLessThanOrEqual(20);
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
