import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.js';
import { openWarehouse } from '../../src/load/open.js';
import { Queue } from '../../src/push/queue.js';
import { type PlainAnswer, PlainApi, plainCompany, plainTopic, uuid } from '../support/plain-api.js';
import type { Pulling } from '../support/pulling.js';
import { enqueue, type Pushed, push, type Wish } from '../support/pushing.js';
import { testFolder } from '../support/test-folders.js';

/** Requests whose outcome the program cannot know, and what it does until it has read it. */

type Plain = Record<string, unknown>;
/** What one attempt meets: an answer instead of the API's, or the API, whose answer is lost or changed on the way. */
type Step = PlainAnswer | 'never arrives' | 'answer is lost' | 'answer';

let api: PlainApi;
let pulling: Pulling<PlainApi>;
/** What the API applied, in order. */
let applied: Plain[];
/** The answers that the API stored, by their keys. */
let answers: Map<unknown, PlainAnswer>;
let script: Step[];
/** What somebody does right after the first request was applied. */
let meanwhile: () => void;

beforeEach(async () => {
  api = await PlainApi.start({
    topics: [plainTopic(1), plainTopic(2)],
    companies: [plainCompany(1), plainCompany(2)],
  });
  pulling = api.pulling();
  applied = [];
  answers = new Map();
  script = [];
  meanwhile = () => undefined;
  api.at(
    /^\/(topics\/|companies\/bulk)/,
    ({ url, body, headers }) => {
      const step = script.length > 1 ? script.shift() : (script[0] ?? 'answer');
      if (step === 'never arrives') return { destroy: true };
      if (typeof step === 'object') return step;
      const key = headers['idempotency-key'];
      const stored = answers.get(key);
      const answer = stored ?? apply(url.pathname.slice('/v1'.length), JSON.parse(body));
      answers.set(key, answer);
      if (!stored && applied.length === 1) meanwhile();
      if (step === 'answer is lost') return { destroy: true };
      return answer;
    },
    'PATCH',
  );
});
afterEach(() => api.stop());

function apply(path: string, body: Plain): PlainAnswer {
  applied.push(body);
  if (path !== '/companies/bulk') return { body: structuredClone(set(topic(path.split('/')[2]), body)) };
  const results = (body.companies as Plain[]).map(({ companyId, ...fields }) => ({
    companyId,
    success: true,
    data: structuredClone(Object.assign(company(companyId), fields)),
  }));
  return { body: { results } };
}

const topic = (id: unknown = uuid('t', 1)) => api.topics.find((one) => one.id === id) as Plain;
const company = (id: unknown = '1') => api.companies.find((one) => one.id === id) as Plain;
function set(one: Plain, { archived, ...fields }: Plain): Plain {
  const archiving = archived === undefined ? {} : { archivedAt: archived ? '2026-10-03T00:00:00Z' : null };
  const isDated = one.updatedAt !== undefined && { updatedAt: new Date().toISOString() };
  return Object.assign(one, fields, archiving, isDated);
}

const refusal = (status: number, headers: Record<string, string> = {}): PlainAnswer => ({
  status,
  body: { code: `C${status}`, message: 'no', status, defined: true },
  headers,
});
const raise: Wish = { topic: uuid('t', 1), wanted: { priority: 'high' }, base: { priority: 'default' } };
const rename: Wish = { company: '1', wanted: { name: 'New' }, base: { name: 'Company 1' } };
const statusOf = ({ report }: Pushed) => report.changes.at(-1)?.status;
const errorOf = ({ report }: Pushed) => report.changes.at(-1)?.error ?? '';

/** Makes what was sent older, as if the next push came so many hours later; the API has forgotten its keys by then. */
async function hoursLater(hours: number): Promise<void> {
  const warehouse = await openWarehouse({ dataDir: pulling.dataDir, memoryLimit: '256MB', threads: 1 });
  const queue = await Queue.open(warehouse, pulling, systemClock);
  const earlier = (at: string | null) => new Date(Date.parse(at ?? '') - hours * 3_600_000).toISOString();
  queue.update(queue.withStatus('sending'), ({ firstSentAt, sentAt }) => ({
    firstSentAt: earlier(firstSentAt),
    sentAt: earlier(sentAt),
  }));
  await queue.flush();
  await warehouse.close();
  if (hours > 24) answers.clear();
}

const unauthorized = refusal(401);
/** The key is refused from now on, for whatever is asked. */
function refuseKey(): PlainAnswer {
  for (const method of ['GET', 'PATCH']) api.at(/./, unauthorized, method);
  return unauthorized;
}

describe('a request that was applied, and whose answer was lost', () => {
  it('is read before anything is sent again, and is applied', async () => {
    await enqueue(pulling.dataDir, [raise, rename]);
    script = ['answer is lost', 'answer is lost', refusal(400)];
    const pushed = await push(pulling);
    expect(pushed).toMatchObject({ code: 0, report: { applied: 2, left: { sending: 0, queued: 0 } } });
    expect(applied).toEqual([{ priority: 'high' }, { companies: [{ companyId: '1', name: 'New' }] }]);
    const undone = await pulling.run(['changes', 'undo', 'wishes.csv', '--yes', '--json']);
    expect(JSON.parse(undone.stdout)).toMatchObject({ outcome: 'queued', leftOut: [] });
  });

  it('is not called unsent when the key is refused after that', async () => {
    await enqueue(pulling.dataDir, [raise]);
    script = ['answer is lost'];
    meanwhile = () => void refuseKey();
    const refused = await push(pulling);
    expect({ code: refused.code, status: statusOf(refused) }).toEqual({ code: 5, status: 'sending' });
    expect(errorOf(refused)).toContain('may have been applied');
    api.clear();
    const next = await push(pulling);
    expect({ code: next.code, status: statusOf(next) }).toEqual({ code: 0, status: 'applied' });
    expect(applied).toHaveLength(1);
  });

  it('is not sent again over what a colleague set after it: it stays in doubt until the API has forgotten its key', async () => {
    await enqueue(pulling.dataDir, [raise]);
    script = ['answer is lost', 'answer'];
    meanwhile = () => {
      set(topic(), { priority: 'low' });
      answers.clear();
    };
    const pushed = await push(pulling);
    expect({ code: pushed.code, status: statusOf(pushed) }).toEqual({ code: 3, status: 'sending' });
    await enqueue(pulling.dataDir, [
      { ...raise, wanted: { priority: 'very_high' }, base: { priority: 'low' } },
    ]);
    expect((await push(pulling)).report.left).toMatchObject({ sending: 1, queued: 1 });
    expect(topic().priority).toBe('low');
    expect(applied).toHaveLength(1);
    await hoursLater(25);
    const later = await push(pulling);
    expect(later.report.changes.map(({ status }) => status)).toEqual(['conflict', 'applied']);
  });

  it('stays in doubt while the API says that its key is in use', async () => {
    await enqueue(pulling.dataDir, [raise]);
    script = ['never arrives', refusal(409)];
    const first = await push(pulling);
    expect({ code: first.code, status: statusOf(first) }).toEqual({ code: 3, status: 'sending' });
    script = [];
    const next = await push(pulling);
    expect({ code: next.code, status: statusOf(next) }).toEqual({ code: 0, status: 'applied' });
    expect(applied).toHaveLength(1);
  });

  it('fails when a read shows that it never arrived, and the next attempt was refused', async () => {
    await enqueue(pulling.dataDir, [raise]);
    script = ['never arrives', refusal(400)];
    const failed = await push(pulling);
    expect({ code: failed.code, status: statusOf(failed) }).toEqual({ code: 3, status: 'failed' });
    expect(failed.report.failed.byReason).toEqual({ C400: 1 });
    expect(applied).toEqual([]);
  });
});

it('a request that never arrived is sent again under its key for a day, and has failed after that', async () => {
  await enqueue(pulling.dataDir, [raise]);
  script = ['never arrives'];
  expect(statusOf(await push(pulling))).toBe('sending');
  await hoursLater(25);
  script = [];
  const later = await push(pulling);
  expect({ code: later.code, status: statusOf(later) }).toEqual({ code: 3, status: 'failed' });
  expect(errorOf(later)).toContain('after 24 hours the API still has the values from before');
  expect(applied).toEqual([]);
  await pulling.run(['changes', 'retry', '--status', 'failed']);
  expect(statusOf(await push(pulling))).toBe('applied');
});

it('a read of a company as it was before, which has no time, does not keep an undo from being sent', async () => {
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  await enqueue(pulling.dataDir, [rename]);
  expect(statusOf(await push(pulling))).toBe('applied');
  await pulling.run(['changes', 'undo', 'wishes.csv', '--yes']);
  api.at('/companies/1', () => ({ body: { ...company(), name: 'Company 1' } }));
  expect(statusOf(await push(pulling))).toBe('applied');
  expect(company().name).toBe('Company 1');
});

it('what a colleague set between reading and writing is told once the history shows it, and kept for undo', async () => {
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  await enqueue(pulling.dataDir, [raise]);
  const record = (at: string, from: string, to: string, user: object | null) => ({
    id: `h${at}${to}`,
    operation: 'UPDATE',
    changedAt: at,
    changedBy: 'user',
    user,
    changes: { priority: to },
    previousValues: { priority: from },
  });
  const after = (ms: number) => new Date(Date.now() + ms).toISOString();
  let history: unknown[] = [];
  api.at(`/topics/${uuid('t', 1)}/history`, () => ({
    body: { history, actions: [], mergedInto: null, merges: [], totalCount: history.length },
  }));
  api.at(
    `/topics/${uuid('t', 1)}`,
    ({ url, body }) => {
      history = [record(after(0), 'default', 'very_low', { id: 'u1', name: 'Colleague' })];
      const answer = apply(url.pathname.slice('/v1'.length), JSON.parse(body));
      history = [record(after(1), 'very_low', 'high', null), ...history];
      return answer;
    },
    'PATCH',
  );
  const pushed = await push(pulling);
  expect(statusOf(pushed)).toBe('applied');
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  const id = pushed.report.changes[0]?.id ?? '';
  const shown = await pulling.run(['changes', 'show', id]);
  expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'it replaced priority very_low, which Colleague set',
  );
  const undo = await pulling.run(['changes', 'undo', id, '--yes', '--json']);
  expect(JSON.parse(undo.stdout).changes).toMatchObject([{ wanted: { priority: 'very_low' } }]);
});

it('an undo of a file goes by its bytes, and asks where several imports had a file of its name', async () => {
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  const [anna, ben] = [testFolder(), testFolder()].map((folder) => join(folder, 'list.csv')) as [
    string,
    string,
  ];
  writeFileSync(anna, `topic_id,priority\n${uuid('t', 1)},high\n`);
  writeFileSync(ben, `topic_id,priority\n${uuid('t', 2)},high\n`);
  for (const file of [anna, ben]) await pulling.run(['changes', 'import', file, '--yes']);
  expect((await push(pulling)).report.applied).toBe(2);
  const undo = (name: string) => pulling.run(['changes', 'undo', name, '--dry-run', '--json']);
  const refusal = async (name: string) => {
    const { code, stderr } = await pulling.run(['changes', 'undo', name, '--dry-run']);
    return `${code} ${stderr.replaceAll(/\s+/g, ' ')}`;
  };
  for (const [file, topicNo] of [
    [anna, 1],
    [ben, 2],
  ] as const)
    expect(JSON.parse((await undo(file)).stdout).changes).toMatchObject([{ entityId: uuid('t', topicNo) }]);
  expect(await refusal('list.csv')).toMatch(/^2 .*several imports had a file of this name/);
  writeFileSync(anna, 'topic_id,priority\nother,high\n');
  expect(await refusal(anna)).toMatch(/^2 .*no import had this content/);
  // What two people imported alike, one after the other, is not undone for one of them by the other.
  const both = join(testFolder(), 'both.csv');
  writeFileSync(both, `topic_id,priority\n${uuid('t', 2)},low\n`);
  const byAnna = await pulling.run(['changes', 'import', both, '--yes', '--json', '--by', 'anna']);
  await pulling.run(['changes', 'cancel', ...(JSON.parse(byAnna.stdout).queued as string[])]);
  await pulling.run(['changes', 'import', both, '--yes', '--by', 'ben']);
  expect((await push(pulling)).report.applied).toBe(1);
  expect(await refusal(both)).toMatch(/^2 .*several people imported this content: .* by anna; .* by ben/);
});

describe('an API that leaves archivedAt out', () => {
  const strip = (body: unknown) => ({ body: { ...(body as Plain), archivedAt: undefined } });
  beforeEach(() => {
    const hide = (id: string) => strip(topic(id));
    for (const number of [1, 2]) api.at(`/topics/${uuid('t', number)}`, () => hide(uuid('t', number)));
    api.at('/topics', () => ({
      body: {
        data: api.topics.map((one) => strip(one).body),
        limit: 100,
        page: 1,
        totalCount: api.topics.length,
      },
    }));
    api.at(
      /^\/topics\/./,
      ({ url, body }) => strip((apply(url.pathname.slice('/v1'.length), JSON.parse(body)) as Plain).body),
      'PATCH',
    );
  });

  async function imported(lines: string): Promise<void> {
    const file = join(testFolder(), 'list.csv');
    writeFileSync(file, `topic_id,archived,archived_reason\n${lines}\n`);
    expect(await pulling.run(['changes', 'import', file, '--yes'])).toMatchObject({ code: 0 });
  }

  it('topics are archived, put back by an undo, and unarchived, each with one request; the change says so', async () => {
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    await imported(`${uuid('t', 1)},TRUE,dup\n${uuid('t', 2)},FALSE,`);
    const pushed = await push(pulling);
    expect({ code: pushed.code, applied: pushed.report.applied }).toEqual({ code: 0, applied: 2 });
    expect(pushed.report.changes[0]).toMatchObject({ errorCode: 'not_shown' });
    expect(errorOf(pushed)).toContain('shows archived');
    expect(applied).toEqual(
      expect.arrayContaining([{ archived: true, archivedReason: 'dup' }, { archived: false }]),
    );
    const { stdout } = await pulling.run(['changes', 'undo', 'list.csv', '--yes', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      changes: [{ entityId: uuid('t', 1), wanted: { archived: false } }],
      leftOut: [{ what: expect.stringContaining('Topic 2'), why: expect.stringContaining('is not known') }],
    });
    expect((await push(pulling)).report).toMatchObject({ applied: 1, conflict: 0 });
    expect(applied.at(-1)).toEqual({ archived: false });
  });
});

it('changes retry --overwrite replaces exactly the value that the conflict showed', async () => {
  await enqueue(pulling.dataDir, [raise]);
  set(topic(), { priority: 'very_low' });
  const conflict = await push(pulling);
  expect(statusOf(conflict)).toBe('conflict');
  const id = conflict.report.changes[0]?.id ?? '';
  await pulling.run(['changes', 'retry', id, '--overwrite']);
  set(topic(), { priority: 'low' });
  const again = await push(pulling);
  expect({ code: again.code, status: statusOf(again) }).toEqual({ code: 3, status: 'conflict' });
  expect(errorOf(again)).toContain('priority is now low, was very_low');
  expect(applied).toEqual([]);
  await pulling.run(['changes', 'retry', id, '--overwrite']);
  expect(statusOf(await push(pulling))).toBe('applied');
  expect(topic().priority).toBe('high');
});
