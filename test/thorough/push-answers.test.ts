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
  const answerless = {
    503: (response: ServerResponse) => response.writeHead(503).end(),
    reset: (response: ServerResponse) => response.destroy(),
  };
  const paths = () => [
    ...[...topics.keys()].map((id) => `/topics/${id}`),
    ...[...companies.keys()].map((id) => `/companies/${id}`),
    ...['/topics', '/companies', '/companies/bulk', '/whoami'],
  ];

  /** Every request is without an answer from the PATCH of this path on, until whoami was asked and `meanwhile` is done. */
  async function breakDown(how: '503' | 'reset', path: string, meanwhile: () => void): Promise<void> {
    const before = requestsTo('GET', '/whoami').length;
    answers.set(`PATCH ${path}`, (response) => {
      for (const method of ['GET', 'PATCH'])
        for (const one of paths()) answers.set(`${method} ${one}`, answerless[how]);
      answerless[how](response);
    });
    while (requestsTo('GET', '/whoami').length < before + 2) await delay(20);
    meanwhile();
    answers.clear();
  }

  it.each(['503', 'reset'] as const)(
    '%s: the push goes on where it was, and overwrites nothing that somebody else changed meanwhile',
    async (how) => {
      settings({ outageMinutes: 2 });
      const queued = await enqueue(dataDir, [...topics.keys()].map(raiseTopic));
      const back = breakDown(how, '/topics/t2', () => {
        for (const id of ['t2', 't3']) apply(topics, id, { priority: 'very_low' });
      });
      const pushed = await push();
      await back;
      expect(pushed.code).toBe(3);
      expect(statuses(pushed)).toEqual({
        ...{ t1: 'applied', t2: 'conflict', t3: 'conflict', t4: 'applied', t5: 'applied' },
      });
      expect(pushed.report.notes.join()).toContain('the API was unavailable for');
      expect([topics.get('t2')?.priority, topics.get('t3')?.priority]).toEqual(['very_low', 'very_low']);
      for (const { entityId, idempotencyKey } of queued) {
        const sent = requestsTo('PATCH', `/topics/${entityId}`);
        expect(new Set(sent.map(({ headers }) => headers['idempotency-key'])).size).toBe(
          entityId === 't3' ? 0 : 1,
        );
        if (sent[0]) expect(sent[0].headers['idempotency-key']).toBe(idempotencyKey);
      }
    },
  );

  it('during the request for several companies: only the one that somebody else changed is a conflict', async () => {
    settings({ outageMinutes: 2 });
    const rename = (company: string): Wish => ({
      company,
      wanted: { name: `New ${company}` },
      base: { name: `Company ${company}` },
    });
    await enqueue(dataDir, ['1', '2', '3'].map(rename));
    const back = breakDown('reset', '/companies/bulk', () => apply(companies, '2', { name: 'Another' }));
    const pushed = await push();
    await back;
    expect(statuses(pushed)).toEqual({ 1: 'applied', 2: 'conflict', 3: 'applied' });
    expect([...companies.values()].map(({ name }) => name)).toEqual([
      'New 1',
      'Another',
      'New 3',
      'Company 4',
    ]);
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

  it('that is refused for one of its companies: the others are sent without it', async () => {
    const ids = crowd(20);
    await enqueue(dataDir, ids.map(makeVip));
    refuseWith(['7']);
    const pushed = await push();
    expect({ code: pushed.code, applied: pushed.report.applied }).toEqual({ code: 3, applied: 19 });
    expect(pushed.report.failed).toEqual({ total: 1, byReason: { BAD_REQUEST: 1 } });
    expect(statuses(pushed)['7']).toBe('failed');
    const sent = requestsTo('PATCH', '/companies/bulk');
    expect(sent.length).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(20)) + 1);
    expect(new Set(sent.map(({ headers }) => headers['idempotency-key'])).size).toBe(sent.length);
  });

  it('that is answered 409 for one of its companies: only that one is a conflict', async () => {
    const ids = crowd(20);
    await enqueue(dataDir, ids.map(makeVip));
    refuseWith(['7'], 409, 'CONFLICT');
    const pushed = await push();
    expect({ code: pushed.code, applied: pushed.report.applied }).toEqual({ code: 3, applied: 19 });
    const one = pushed.report.changes.find(({ entityId }) => entityId === '7');
    expect(one).toMatchObject({ status: 'conflict', errorCode: 'CONFLICT', remoteBefore: { is_vip: false } });
    expect(requestsTo('PATCH', '/companies/bulk').length).toBeLessThanOrEqual(
      2 * Math.ceil(Math.log2(20)) + 4,
    );
    // Another payload under a key that was used is what the API forbids.
    for (const bodies of bodiesByKey().values()) expect(bodies.size).toBe(1);
  });

  it('that is answered 409 whatever is in it: all are conflicts, after few requests', async () => {
    const ids = crowd(40);
    await enqueue(dataDir, ids.map(makeVip));
    refuseWith(ids, 409, 'CONFLICT');
    const pushed = await push();
    expect(new Set(Object.values(statuses(pushed)))).toEqual(new Set(['conflict']));
    expect(requestsTo('PATCH', '/companies/bulk').length).toBeLessThanOrEqual(30);
  });

  it('that gets no answer, and 409 after that: what was applied is applied, the rest is sent by itself', async () => {
    await enqueue(dataDir, all.map(makeVip));
    let count = 0;
    answers.set('PATCH /companies/bulk', (response, seen) => {
      const { companies: items } = JSON.parse(seen.body) as { companies: { companyId: string }[] };
      count += 1;
      if (count === 1) {
        apply(companies, '3', { isVip: true });
        return response.destroy();
      }
      if (items.length === 4 || items.some(({ companyId }) => companyId === '2'))
        return refuse(response, 409, 'CONFLICT');
      json(response, 200, { results: applyAll(seen) });
    });
    const pushed = await push();
    expect(statuses(pushed)).toEqual({ 1: 'applied', 2: 'conflict', 3: 'applied', 4: 'applied' });
    const [whole, ...parts] = [...bodiesByKey().values()].map(([body]) => body ?? '');
    expect(whole).toContain('"3"');
    expect(parts.join()).not.toContain('"3"');
    for (const bodies of bodiesByKey().values()) expect(bodies.size).toBe(1);
  });

  it.each([410, 412, 423, 451])(
    'that is answered %i for one of its companies: the others are sent',
    async (status) => {
      await enqueue(dataDir, all.map(makeVip));
      refuseWith(['2'], status, 'NO');
      const pushed = await push();
      expect(statuses(pushed)).toEqual({ 1: 'applied', 2: 'failed', 3: 'applied', 4: 'applied' });
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
