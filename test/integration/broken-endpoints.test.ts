import { beforeEach, describe, expect, it } from 'vitest';
import type { FaultRuleInput } from '../../src/sandbox/faults.js';
import { Pulling, startTown, town, townOfFile } from '../support/pulling.js';
import { serve, statusOf, terminate, until } from '../support/serving.js';

const { sandbox } = await townOfFile({ holds: 'nothing', sizes: town });
let pulling: Pulling;
beforeEach(() => {
  pulling = Pulling.into(sandbox);
});

const everything = (fault: object) => ({ ...fault, match: {} }) as FaultRuleInput;

describe('one broken endpoint', () => {
  it('is given up, everything else is fetched, and the next run completes it', async () => {
    sandbox.addFaults([{ match: { route: 'person_source_stats' }, kind: 'status', status: 403 }]);
    const { code, report } = await pulling.sync();
    expect([code, report.outcome]).toEqual([3, 'incomplete']);
    const failed = report.failures.filter(({ entityId }) => entityId !== null);
    expect(new Set(report.failures.map(({ endpoint }) => endpoint))).toEqual(
      new Set(['person_source_stats']),
    );
    const [summary] = report.failures.filter(({ entityId }) => entityId === null);
    expect(summary?.message).toContain(`${40 - failed.length} more were not asked for`);
    expect(report.left.due).toBe(40);
    const ofPeople = (line: string) => line.startsWith('people') || line.startsWith('person_source_stats');
    expect((await pulling.differences()).filter((line) => !ofPeople(line))).toEqual([]);
    const { stdout } = await pulling.run(['status']);
    // Migrated topics answer 404 for their history, which is no failure.
    expect(stdout).toMatch(
      new RegExp(`person_source_stats +${failed.length} .* ${failed.length}\\n[^]* topic_history .* 0\\n`),
    );
    const named = `person_source_stats: ${failed.length} entities \\(.*, …\\), most often: .*/people/\\{id\\}/source-stats`;
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(new RegExp(named));

    sandbox.clearFaults();
    const next = await pulling.sync();
    expect([next.code, next.report.failures]).toEqual([0, []]);
    expect(next.seen.person_source_stats).toBe(40);
    expect(await pulling.differences()).toEqual([]);
  });

  it('a key that whoami refuses as well ends the run with exit 5, everything committed', async () => {
    sandbox.addFaults([{ ...everything({ kind: 'status', status: 401 }), after: 60 }]);
    const { code, report } = await pulling.sync();
    expect([code, report.outcome]).toEqual([5, 'failed']);
    const [row] = await pulling.rows<{ topics: number }>('SELECT count(*) AS topics FROM topics');
    expect(row?.topics).toBeGreaterThan(20);
  });
});

it('a list that cannot be read is named by a plan, which exits 3', async () => {
  sandbox.addFaults([{ match: { route: 'channels' }, kind: 'status', status: 500 }]);
  const { code, stdout } = await pulling.run(['plan', '--json', '--only', 'channels']);
  expect([code, JSON.parse(stdout).failures]).toMatchObject([
    3,
    [{ endpoint: 'channels', entityId: null, message: expect.stringContaining('500') }],
  ]);
});

describe('a run that is limited', () => {
  it('a cap that the lists may need is spent on them first', async () => {
    const slow = await startTown({ sizes: town, maxPageSize: 4 });
    const { code, report } = await Pulling.into(slow).sync(['--max-requests', '60']);
    await slow.stop();
    expect([code, report.outcome, report.requests.total]).toEqual([0, 'stopped', 60]);
    expect(report.scans.map(({ verified }) => verified)).toEqual(Array(6).fill(true));
  });

  it('a cap that is spent on a part of the lists says so', async () => {
    const slow = await startTown({ sizes: town, maxPageSize: 4 });
    const { code, report } = await Pulling.into(slow).sync(['--max-requests', '12']);
    await slow.stop();
    expect([code, report.outcome, report.requests.total]).toEqual([0, 'stopped', 12]);
    expect(report.scans.filter(({ complete }) => !complete)).toContainEqual(
      expect.objectContaining({ endpoint: 'people', verified: false }),
    );
    expect(report.scans).toHaveLength(6);
  });

  it('--only reads a list and its children, or one endpoint of what is known', async () => {
    const { code, seen, report } = await pulling.sync(['--only', 'companies']);
    // Nobody knows what is due of lists that were never read.
    expect([code, report.left.complete]).toEqual([0, false]);
    expect(Object.keys(seen).sort()).toEqual(
      [
        'whoami',
        'companies',
        'company',
        'company_activity',
        'groups',
        'company_identities',
        'company_history',
      ].sort(),
    );
    // Nothing but companies was asked for: nothing else may be held to be missing.
    expect((await pulling.sync(['--only', 'channel,stories'])).seen).toMatchObject({ stories: 2, story: 6 });
    const only = await pulling.sync(['--only', 'company_activity']);
    expect([only.code, only.seen]).toEqual([0, { whoami: 1 }]);
    // What is left due is not only what was asked for.
    const left = await pulling.sync(['--only', 'topics', '--max-requests', '4']);
    const after = await pulling.sync(['--only', 'channels']);
    expect([left.report.left.due > 0, after.report.left.due]).toEqual([true, left.report.left.due]);

    sandbox.addFaults([{ match: { route: 'people' }, kind: 'status', status: 500 }]);
    expect((await pulling.sync()).report.left.complete).toBe(false);
    sandbox.clearFaults();
    expect((await pulling.sync()).report.left).toMatchObject({ due: 0, complete: true });
    expect((await pulling.sync(['--only', 'stories'])).report.left.complete).toBe(true);
  });
});

it('serve shows an outage while it waits for its end, a minute, logs it, and says afterwards how long it took', async () => {
  const jobs = [{ name: 'nightly', run: 'sync', cron: '0 3 * * *' }];
  pulling.set({ api: { outageMinutes: 30 }, serve: { jobs } });
  // In a catch-up right after the start, from whoami on: before there is any phase.
  sandbox.addFaults([everything({ kind: 'html', status: 503 })]);
  const served = await serve(pulling);
  const waiting = await until(
    async () => (await statusOf(served)).schedule.running,
    (running) => running?.outage != null,
  );
  expect(waiting).toMatchObject({ job: 'nightly', outage: { reason: expect.stringContaining('503') } });
  const left = Date.parse(waiting?.outage?.until ?? '') - Date.now();
  expect([left > 0, left <= 60_000]).toEqual([true, true]);
  expect(await (await fetch(served.url)).text()).toContain('has not answered since');
  sandbox.clearFaults();
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
