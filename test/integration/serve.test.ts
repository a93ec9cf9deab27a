import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StatusReport } from '../../src/commands/status.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { Pulling, startTown, townOfFile } from '../support/pulling.js';
import { read, serve, statusOf, terminate, until } from '../support/serving.js';
import { printed } from '../support/signalhouse.js';

const sizes = { topics: 5, people: 8, companies: 3, messages: 60, stories: 2, templates: 1, channels: 2 };
const { sandbox } = await townOfFile({ holds: 'nothing', sizes });

const token = 'a-token-of-a-good-length';
/** Never by itself within this test. */
const yearly = { cron: '0 0 1 1 *', catchUp: false };

describe('serve', () => {
  it('pulls on schedule, shows it, takes orders behind its token, and lets others work beside it', async () => {
    const pulling = Pulling.into(sandbox, {
      serve: {
        jobs: [
          // Often, with room between for what waits its turn, on a slow machine too.
          { name: 'often', run: 'sync+push', cron: '*/30 * * * * *' },
          { name: 'dump', run: 'export', ...yearly },
        ],
        freshness: { topics: 24, people: 0.0001 },
      },
    });
    const served = await serve(pulling, [], {
      SIGNALHOUSE_SERVE_TOKEN: token,
    });
    expect(await read(served, '/healthz')).toBe('{"status":"ok"}');
    const first = await until(
      () => statusOf(served),
      ({ schedule, facts }) =>
        schedule.history.some(({ outcome }) => outcome === 'done') && (facts?.rows.topics ?? 0) > 0,
    );
    const topics = first.facts?.rows.topics;
    // On a busy machine, a due time may be skipped (and recorded) before the first run ends.
    const runs = first.schedule.history.filter(({ outcome }) => outcome !== 'skipped');
    expect(runs.at(-1)).toMatchObject({ job: 'often', trigger: 'catch-up' });
    expect(await pulling.differences()).toEqual([]);

    // Beside it: a question, and a command that takes the warehouse and waits its turn.
    const ask = pulling.start(['sql', '--json', 'SELECT count(*) AS n FROM topics']).ended;
    const rebuild = pulling.start(['rebuild', '--wait']).ended;
    expect(JSON.parse((await ask).stdout)).toEqual([{ n: topics }]);
    expect((await rebuild).code).toBe(0);

    const post = (path: string, given?: string) =>
      fetch(served.url + path, {
        method: 'POST',
        ...(given === undefined ? {} : { headers: { authorization: `Bearer ${given}` } }),
      }).then(({ status }) => status);
    expect(await post('/jobs/dump/run')).toBe(401);
    expect(await post('/jobs/dump/run', `${token}x`)).toBe(401);
    expect(await post('/jobs/nobody/run', token)).toBe(404);
    expect(await post('/jobs/dump/run', token)).toBe(202);
    await until(
      () => statusOf(served),
      ({ schedule }) => schedule.history.some(({ job }) => job === 'dump'),
    );
    expect(readdirSync(join(pulling.dataDir, 'reports', 'dump'))).toEqual(
      expect.arrayContaining(['topics', 'manifest.json']),
    );

    // Decisions over HTTP, by the rules of an import; a job that runs just now is said to be in the way.
    const topic = [...sandbox.world.topics.values()].find(
      (one) => one.graphStatus === 'active',
    ) as StoredTopic;
    const priority = topic.priority === 'high' ? 'low' : 'high';
    const send = (rows: object[]) =>
      until(
        () =>
          fetch(`${served.url}/changes?by=Kim`, {
            method: 'POST',
            headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            body: JSON.stringify(rows),
          }),
        ({ status }) => status !== 503,
      );
    const taken = await send([{ topic_id: topic.id, priority }]);
    expect([taken.status, await taken.json()]).toEqual([200, { queued: 1, problems: [] }]);
    await until(
      () => statusOf(served),
      ({ facts }) => facts?.queue.applied === 1,
    );
    expect(sandbox.world.topics.get(topic.id)?.priority).toBe(priority);

    const metrics = await until(
      () => read(served, '/metrics'),
      (text) =>
        new RegExp(`^signalhouse_rows\\{table="topics",organization="[^"]+"\\} ${topics}$`, 'm').test(text),
    );
    for (const line of [/signalhouse_runs_total\{job="often",outcome="done",organization="[^"]+"\} \d/]) {
      expect(metrics).toMatch(line);
    }
    expect(await read(served, '/')).toContain('often');

    // Not all of them were asked for.
    await until(
      () => statusOf(served),
      ({ schedule }) => schedule.history.some(({ trigger }) => trigger === 'schedule'),
    );
    const { code, stdout, stderr } = await terminate(served);
    expect(code).toBe(0);
    expect(stdout + stderr).not.toMatch(/a-token-of|svc_sandbox/);

    const told = await pulling.start(['status', '--json']).ended;
    const status = JSON.parse(told.stdout) as StatusReport;
    // People are older than their objective by now.
    expect([told.code, status.exitCode]).toEqual([3, 3]);
    expect(status.schedule.jobs.map(({ name }) => name)).toEqual(['often', 'dump']);
    expect(status.freshness[0]).toMatchObject({ resource: 'topics', state: 'fresh' });
    expect(status.spent.slices.reduce((sum, one) => sum + one.requests, 0)).toBeGreaterThan(50);
  });
});

it('a signal in the middle of a job commits and publishes; the next start makes up for it', async () => {
  const slow = await startTown({ sizes, latencyMs: [40, 60] });
  try {
    const jobs = [{ name: 'nightly', run: 'sync', cron: '0 3 * * *' }];
    const pulling = Pulling.into(slow, { serve: { jobs } });
    const served = await serve(pulling);
    await until(
      async () => slow.stats().requests,
      (requests) => requests > 30,
    );
    const { code } = await terminate(served);
    expect(code).toBe(0);
    expect(existsSync(join(pulling.dataDir, 'signals.duckdb'))).toBe(true);
    const status = JSON.parse((await pulling.start(['status', '--json']).ended).stdout) as StatusReport;
    expect(status.contents?.left?.due).toBeGreaterThan(0);
    expect(status.schedule.jobs[0]).toMatchObject({
      overdueSince: expect.any(String),
      last: { outcome: 'interrupted', trigger: 'catch-up' },
    });
    // The same, by somebody else's clock.
    const once = await pulling.start(['serve', '--once', '--json']).ended;
    expect(once.code).toBe(0);
    expect(JSON.parse(once.stdout)).toMatchObject({ runs: [{ job: 'nightly', outcome: 'done' }] });
    expect(await pulling.differences()).toEqual([]);
    expect((await pulling.start(['serve', '--once']).ended).stdout).toContain('Nothing is due');
  } finally {
    await slow.stop();
  }
});

it('two do not serve one data directory, and a killed one holds nothing', async () => {
  const jobs = [{ name: 'often', run: 'sync', ...yearly }];
  const pulling = Pulling.into(sandbox, { serve: { jobs } });
  const served = await serve(pulling);
  for (const args of [['--port', '0'], ['--once']]) {
    const { code, stderr } = await pulling.start(['serve', ...args]).ended;
    expect([args, code]).toEqual([args, 4]);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      `is served by process ${served.running.child.pid} already`,
    );
  }
  served.running.child.kill('SIGKILL');
  await served.running.ended;
  expect((await terminate(await serve(pulling))).code).toBe(0);
});

describe('what is printed at the start', () => {
  it('of serve beyond this machine: where it listens, that there is no login, and that the report is not shown', async () => {
    const pulling = Pulling.into(sandbox, {
      serve: { jobs: [{ name: 'never', run: 'export', ...yearly }] },
    });
    for (const [host, isOpen] of [
      ['0.0.0.0', true],
      ['127.0.0.1', false],
    ] as const) {
      const running = pulling.start(['serve', '--port', '0', '--host', host]);
      const text = await printed(running, 'Ctrl-C');
      expect([host, text.includes('NO LOGIN')]).toEqual([host, isOpen]);
      const [url = ''] = /http:\/\/[\d.]+:\d+/.exec(text) ?? [];
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      if (isOpen) expect(text).toMatch(/serving on 0\.0\.0\.0, port \d+:\n {2}http:\/\/127\.0\.0\.1:\d+\n/);
      // Nothing was published yet.
      expect((await fetch(`${url}/report`)).status).toBe(isOpen ? 404 : 503);
      running.child.kill('SIGTERM');
      const { code, stderr } = await running.ended;
      expect([code, stderr.includes('no report, topics or sheets')]).toEqual([0, isOpen]);
    }
  });
});
