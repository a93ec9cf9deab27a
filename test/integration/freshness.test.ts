import { expect, test } from 'vitest';
import type { StatusReport } from '../../src/commands/status.js';
import { town, townOfFile } from '../support/pulling.js';
import { read, serve, terminate, until } from '../support/serving.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/status.js'));

const { sandbox, pulling } = await townOfFile({ sizes: town, signedUrls: true });

/** Makes everything that was fetched older, without anything being due. */
const later = (days: number) =>
  pulling.edit(`UPDATE ops.coverage SET fetched_at = fetched_at - INTERVAL ${days} DAY`);
const rows = async (sql: string) => JSON.parse((await pulling.run(['sql', '--json', sql])).stdout);

test('what is fresh is not checked; later, three details are, and what changes by itself is no difference', async () => {
  expect(await rows("FROM freshness_estimates WHERE resource = 'all'")).toMatchObject([
    { checks: 0, high: 1 },
  ]);
  expect((await pulling.sync()).report.requests.total).toBeLessThan(15);
  await later(3);
  const plan = await pulling.plan();
  expect(plan.requests).toMatchObject({ children: 0, checks: 3 });
  const { code, report } = await pulling.sync();
  expect(report).toMatchObject({ failures: [] });
  expect([code, report.requests.total]).toEqual([0, plan.requests.total]);
  expect(await rows('SELECT count(*) AS checks, sum(differs::INT) AS stale FROM ops.audits')).toEqual([
    { checks: 3, stale: 0 },
  ]);
  const { stdout } = await pulling.run(['status']);
  expect(stdout).toContain('all details: not yet known: 3 checks');
});

test('what changes without a sign is found, told by status, metrics and view, and read more often', async () => {
  const told = [];
  for (let round = 0; round < 3; round += 1) {
    // Past the functions that also change what shows it.
    for (const message of sandbox.world.messages.values()) message.content = `silently ${round}`;
    await later(1);
    told.push(await pulling.sync(['--only', 'topic_groups']));
  }
  expect(told.map(({ code }) => code)).toEqual([0, 0, 0]);
  const found = await rows("SELECT * FROM ops.audits WHERE resource = 'topic_groups' AND differs");
  expect(found.length).toBeGreaterThanOrEqual(6);
  for (const { fields } of found) expect(fields).toContain('messages.content');
  expect((await pulling.run(['status'])).code).toBe(0);

  // As many more such nights: the interval is narrow, whatever was drawn.
  for (let times = 0; times < 6; times += 1) await pulling.edit('INSERT INTO ops.audits FROM ops.audits');
  const { report } = await pulling.sync(['--only', 'topics', '--max-requests', '5']);
  expect(report.notes.join()).toMatch(
    /% of topic_groups is out of date .*serve\.freshness allows 5\.0 %; they are fetched again after [\d.]+ days at the latest, not 14\.0/,
  );
  const [estimate] = await rows("FROM freshness_estimates WHERE resource = 'topic_groups'");
  // Nine, and those of the three before that were conversations.
  expect([576, 640, 704, 768]).toContain(estimate.checks);
  expect(estimate.low).toBeGreaterThan(0.05);
  const status = await pulling.run(['status', '--json']);
  expect([status.code, (JSON.parse(status.stdout) as StatusReport).exitCode]).toEqual([3, 3]);
  expect((await pulling.run(['status'])).stdout).toMatch(/% of topic_groups .*\s+MORE THAN ALLOWED/s);
  const [topic] = sandbox.world.topics.keys();
  const { stdout, stderr } = await pulling.run(['explain', 'topic', String(topic)]);
  expect(stderr).toBe('');
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /topic_groups changes unannounced once in \d+ days by \d+ checks, so it is read every [\d.]+ days/,
  );

  pulling.set({ serve: { jobs: [{ name: 'yearly', run: 'sync', cron: '0 0 1 1 *', catchUp: false }] } });
  const served = await serve(pulling);
  const metrics = await until(
    () => read(served, '/metrics'),
    (text) => text.includes('stale_share'),
  );
  expect(metrics).toMatch(
    new RegExp(`^signalhouse_checks\\{resource="topic_groups"[^}]*\\} ${estimate.checks}$`, 'm'),
  );
  expect(await read(served, '/')).toContain('Too much of topic_groups is out of date');
  await terminate(served);
  pulling.set({ serve: { freshness: { stale: 0 } } });
  expect((await pulling.run(['status'])).code).toBe(0);
});
