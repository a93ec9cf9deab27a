import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { resources } from '../../src/contract/resources.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { startTown } from '../support/pulling.js';
import { changeable, enqueue, type Pushed, queueOf, raise, reportOf, type Wish } from '../support/pushing.js';
import { type Served, serve, statusOf, terminate, until } from '../support/serving.js';
import { Folders } from '../support/signalhouse.js';
import { InProcess, impatient as timeouts } from './fault-matrix.js';
import { Gateway, type Outage, outages, type Request } from './gateway.js';

/**
 * The API is unavailable from one request on, in each phase of a sync and of a push, shorter and longer than
 * `api.outageMinutes`. The phases of a sync are those of the resource table.
 */

const sizes = { topics: 5, people: 6, companies: 2, messages: 30, channels: 2, stories: 2, templates: 2 };
const folders = new Folders();
let sandbox: Sandbox;
let gateway: Gateway;
let template: string;
/** The entities that are gone since the template was pulled. */
let gone: string[];
beforeAll(async () => {
  sandbox = await startTown({ sizes });
  gateway = await Gateway.start(sandbox);
  const first = new InProcess(sandbox, join(folders.make(), 'data'));
  expect(await first.sync()).toMatchObject({ code: 0 });
  template = first.dataDir;
});
afterEach(() => gateway.restore());
afterAll(async () => {
  await gateway.stop();
  await sandbox.stop();
  folders.remove();
});

/** A copy of the template behind the gateway, with these settings. */
function copyOf(how: Outage, outageMinutes: number): InProcess {
  const dataDir = join(folders.make(), 'data');
  cpSync(template, dataDir, { recursive: true });
  const pulling = new InProcess(sandbox, dataDir, { api: { outageMinutes } });
  if (how === 'hang') pulling.tuning = { timeouts };
  pulling.env.SIGNALHOUSE_BASE_URL = gateway.baseUrl;
  return pulling;
}

/** Long enough for an outage that ends after one request to whoami, on a busy machine too. */
const patient = 0.3;
const impatient = 0.01;

/** The requests that were answered since the last call, but for those to whoami. */
function takeAnswered(): string[] {
  const taken = gateway.answered.map(({ method, path }) => `${method} ${path}`);
  gateway.answered = [];
  return taken.filter((one) => one !== 'GET /whoami').sort();
}

interface Phase {
  readonly name: string;
  readonly at: (request: Request) => boolean;
}

const isGet =
  (pattern: RegExp) =>
  ({ method, path }: Request) =>
    method === 'GET' && pattern.test(path);

/** A GET of this endpoint, or of its part for one kind of parent. */
function phaseOf(name: string, template: string, parameter?: string): Phase {
  const path = template.replaceAll(/\{\w+\}/g, '[^/?]+');
  return {
    name,
    at: isGet(new RegExp(`^${path}${parameter === undefined ? '(\\?|$)' : `\\?.*${parameter}=`}`)),
  };
}

const phasesOfSync: readonly Phase[] = [
  phaseOf('whoami', '/whoami'),
  ...resources.lists.map(({ name, endpoint }) => phaseOf(name, endpoint.path)),
  ...resources.children.map(({ name, endpoint, parentParameter }) =>
    phaseOf(name, endpoint.path, parentParameter),
  ),
  { name: 'what is listed no more', at: ({ path }) => gone.some((id) => path.endsWith(`s/${id}`)) },
];
/** Each phase with another kind of outage; one that hangs takes seconds. */
const kinds = ['refused', '503', 'html', '503', 'refused', 'html', 'hang'] as const;
const cells = phasesOfSync.map(({ name, at }, index) => ({
  ...{ name, at, how: kinds[index % kinds.length] as Outage },
  // The client waits in the same way in all phases, so one of the two lengths is enough for most of them.
  isBoth: ['whoami', 'what is listed no more'].includes(name),
  isEven: index % 2 === 0,
}));
/** The endpoints that are not asked where the list has every field of them. */
const optional = resources.children.flatMap(({ name, skippedWhenListHas }) =>
  skippedWhenListHas === undefined ? [] : [name as string],
);

describe('a sync', () => {
  let whole: string[];
  let inOrder: Request[];

  beforeAll(async () => {
    // Since the template, a day has passed, some are gone, and every child is due.
    sandbox.advance(1);
    const { world } = sandbox;
    const [topicId = ''] = changeable(sandbox).map(({ id }) => id);
    const personId = [...world.people.keys()].at(-1) ?? '';
    gone = [topicId, personId];
    sandbox.change({ kind: 'deleteTopic', topicId });
    sandbox.change({ kind: 'deletePerson', personId });
    const old = new InProcess(sandbox, template);
    await old.age();
    const reference = copyOf('503', patient);
    takeAnswered();
    expect(await reference.sync()).toMatchObject({ code: 0 });
    inOrder = gateway.answered;
    whole = takeAnswered();
    expect(await reference.differences()).toEqual([]);
  });

  const middle = (at: Phase['at']) => 1 + Math.floor(inOrder.filter(at).length / 2);
  const count = (requests: readonly string[], one: string) =>
    requests.filter((other) => other === one).length;

  it.each(cells.filter(({ isBoth, isEven }) => isBoth || isEven))(
    '$name, $how: a short one is waited out, and nothing that was answered is asked again',
    async (cell) => {
      if (!inOrder.some(cell.at)) return expect(optional).toContain(cell.name);
      const pulling = copyOf(cell.how, patient);
      gateway.breakDown({ ...cell, nth: cell.name === 'whoami' ? 1 : middle(cell.at), isShort: true });
      const { code, report, stderr } = await pulling.sync();
      expect([code, report.outcome, report.failures, stderr]).toEqual([0, 'done', [], expect.any(String)]);
      expect(gateway.isDown).toBe(false);
      expect(takeAnswered()).toEqual(whole);
      expect(await pulling.differences()).toEqual([]);
    },
  );

  it.each(cells.filter(({ isBoth, isEven }) => isBoth || !isEven))(
    '$name, $how: a long one ends the run in order, and the next one does the rest',
    async (cell) => {
      if (!inOrder.some(cell.at)) return expect(optional).toContain(cell.name);
      const pulling = copyOf(cell.how, impatient);
      const isFirst = cell.name === 'whoami';
      gateway.breakDown({ ...cell, nth: isFirst ? 1 : middle(cell.at), isShort: false });
      const hurt = await pulling.run(['sync', '--json']);
      expect(hurt.code).toBe(1);
      expect(hurt.stdout + hurt.stderr).toContain('the API has been unavailable for');
      if (!isFirst) {
        expect(JSON.parse(hurt.stdout)).toMatchObject({
          ...{ outcome: 'failed', endedByOutage: true, published: expect.any(Object) },
          // Nothing is blamed on what was being fetched.
          failures: [{ endpoint: 'sync' }],
        });
      }
      const before = takeAnswered();
      await gateway.restore();
      const next = await pulling.sync();
      expect([next.code, next.report.failures]).toEqual([0, []]);
      expect(await pulling.differences()).toEqual([]);
      // The lists are read again, and of the children only what was not answered.
      const isList = (one: string) =>
        resources.lists.some(({ endpoint }) => one.split(/[ ?]/)[1] === endpoint.path);
      // What is gone may have been merged into another, whose history is read again when the run before had read it: the merge
      // may be later.
      const mayTellMerge = (one: string) =>
        cell.name === 'what is listed no more' && one.endsWith('/history');
      const both = [...before, ...takeAnswered()];
      const again = [...new Set(both)].filter(
        (one) => !isList(one) && !mayTellMerge(one) && count(both, one) > count(whole, one),
      );
      expect(again).toEqual([]);
    },
  );

  it('is never waited out beyond --max-minutes', async () => {
    const pulling = copyOf('503', 30);
    gateway.breakDown({ how: '503', at: () => true, nth: 20, isShort: false });
    const { code, report } = await pulling.sync(['--max-minutes', '0.05']);
    expect([code, report.outcome, report.stoppedBy]).toEqual([0, 'stopped', '--max-minutes 0.05 is reached']);
    expect(report.minutes).toBeLessThan(5);
  });

  it('after the last request: the run needs nothing any more', async () => {
    const pulling = copyOf('refused', impatient);
    gateway.breakDown({ how: 'refused', at: () => true, nth: inOrder.length + 1, isShort: false });
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await pulling.differences()).toEqual([]);
  });
});

describe('a push', () => {
  let wishes: Wish[];
  let before: Record<string, Record<string, number>>;
  let renamed = 0;
  beforeEach(() => {
    const { world } = sandbox;
    renamed += 1;
    const names = [...world.companies.values()].map(({ id, name }) => ({
      company: id,
      wanted: { name: `Company ${renamed} ${id}` },
      base: { name },
    }));
    wishes = [...changeable(sandbox).slice(0, 4).map(raise), ...names];
    before = sandbox.applied();
    gateway.answered = [];
  });
  afterEach(() => {
    gateway.replace = undefined;
  });

  const patches =
    (pattern: RegExp) =>
    ({ method, path }: Request) =>
      method === 'PATCH' && pattern.test(path);
  const topicPatch = patches(/^\/topics\//);
  const companyPatch = patches(/^\/companies\/bulk/);
  /** The answer proves nothing, so the entity is read. */
  const empty = (request: Request) => (request.method === 'PATCH' ? {} : undefined);
  const phases = [
    { name: 'whoami', at: isGet(/^\/whoami/), nth: 1 },
    { name: 'reading the topics', at: isGet(/^\/topics(\?|$)/), nth: 1 },
    { name: 'a PATCH', at: topicPatch, nth: 2 },
    { name: 'the answer to a PATCH', at: topicPatch, nth: 2, isExecuted: true },
    { name: 'reading a topic after its PATCH', at: isGet(/^\/topics\/./), nth: 2, replace: empty },
    { name: 'reading the companies', at: isGet(/^\/companies(\?|\/|$)/), nth: 1 },
    { name: 'the PATCH of companies', at: companyPatch, nth: 1 },
    { name: 'the answer to the PATCH of companies', at: companyPatch, nth: 1, isExecuted: true },
    { name: 'reading companies after their PATCH', at: isGet(/^\/companies\/./), nth: 1, replace: empty },
  ];
  const short = phases.flatMap((phase, index) => {
    const isPatch = phase.at === topicPatch || phase.at === companyPatch;
    const hows = isPatch ? (['refused', '503'] as const) : [outages[index % outages.length] as Outage];
    return hows.map((how) => ({ ...phase, how }));
  });
  const long = phases.map((phase, index) => ({ ...phase, how: outages[index % outages.length] as Outage }));

  const push = async (pulling: InProcess): Promise<Pushed> => reportOf(await pulling.run(['push', '--json']));

  /** Every change is in the API, and was executed once. */
  async function expectOnce(pulling: InProcess): Promise<void> {
    expect((await queueOf(pulling.dataDir)).filter(({ status }) => status !== 'applied')).toEqual([]);
    const after = sandbox.applied();
    const executed = wishes.map(({ topic, company, wanted }) => {
      const [name = ''] = Object.keys(wanted);
      const entity = topic === undefined ? `company:${company}` : `topic:${topic}`;
      return (after[entity]?.[name] ?? 0) - (before[entity]?.[name] ?? 0);
    });
    expect(executed).toEqual(wishes.map(() => 1));
    const values = wishes.map(({ topic, company }) =>
      topic === undefined
        ? { name: sandbox.world.companies.get(company ?? '')?.name }
        : { priority: sandbox.world.topics.get(topic)?.priority },
    );
    expect(values).toEqual(wishes.map(({ wanted }) => wanted));
  }

  it.each(short)('$name, $how: a short one is waited out', async (cell) => {
    const pulling = copyOf(cell.how, patient);
    await enqueue(pulling.dataDir, wishes);
    gateway.replace = cell.replace;
    gateway.breakDown({ ...cell, isShort: true });
    const { code, report } = await push(pulling);
    expect([code, report.outcome, report.applied, report.notes]).toEqual([
      ...[0, 'done', wishes.length, expect.any(Array)],
    ]);
    expect(gateway.isDown).toBe(false);
    await expectOnce(pulling);
  });

  it.each(long)(
    '$name, $how: a long one ends the push in order, and the next one does the rest',
    async (cell) => {
      const pulling = copyOf(cell.how, impatient);
      await enqueue(pulling.dataDir, wishes);
      gateway.replace = cell.replace;
      gateway.breakDown({ ...cell, isShort: false });
      const hurt = await pulling.run(['push', '--json']);
      expect(hurt.code).toBe(1);
      expect(hurt.stdout + hurt.stderr).toContain('the API has been unavailable for');
      expect(gateway.isDown).toBe(true);
      await gateway.restore();
      gateway.replace = undefined;
      expect(await push(pulling)).toMatchObject({ code: 0 });
      await expectOnce(pulling);
    },
  );
});

describe('serve', () => {
  it('shows an outage while it waits it out, logs it, and says afterwards how long it took', async () => {
    const pulling = copyOf('503', 30);
    const jobs = [{ name: 'nightly', run: 'sync', cron: '0 3 * * *' }];
    pulling.set({ api: { outageMinutes: 30 }, serve: { jobs } });
    // In a catch-up right after the start, from whoami on: before there is any phase.
    gateway.breakDown({ how: '503', at: () => true, nth: 1, isShort: false });
    const served = await serve(pulling);
    const runningOf = async () => (await statusOf(served)).schedule.running;
    const waiting = await until(runningOf, (running) => running?.outage != null);
    expect(waiting).toMatchObject({ job: 'nightly', outage: { reason: expect.stringContaining('503') } });
    expect(Date.parse(waiting?.outage?.until ?? '')).toBeGreaterThan(Date.now() + 25 * 60_000);
    expect(await (await fetch(served.url)).text()).toContain('has not answered since');
    await gateway.restore();
    const [last] = await until(
      async () => (await statusOf(served)).schedule.history,
      ([run]) => run?.outcome === 'done',
    );
    expect(last?.message).toContain('the API was unavailable for');
    const { code, stderr } = await terminate(served);
    expect(code).toBe(0);
    expect(stderr).toMatch(/the API has been unavailable for .*; waiting for it, at most/);
    expect(stderr).toContain('the API answers again after');
  });

  it('tries a job that an outage ended again later, and says when', async () => {
    const pulling = copyOf('503', impatient);
    const jobs = [{ name: 'nightly', run: 'sync', cron: '0 3 * * *' }];
    pulling.set({ api: { outageMinutes: impatient }, serve: { jobs } });
    gateway.breakDown({ how: '503', at: () => true, nth: 1, isShort: false });
    const served: Served = await serve(pulling);
    const historyOf = async () => (await statusOf(served)).schedule.history;
    const [failed] = await until(historyOf, (history) => history.length > 0);
    await gateway.restore();
    expect(failed).toMatchObject({ trigger: 'catch-up', outcome: 'failed', exitCode: 1 });
    expect(failed?.message).toContain('the next try is at');
    const metrics = await (await fetch(`${served.url}/metrics`)).text();
    expect(metrics).toContain('signalhouse_runs_total{job="nightly",outcome="failed"} 1');
    expect((await terminate(served)).code).toBe(0);
  });
});
