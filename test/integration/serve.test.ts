import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StatusReport } from '../../src/app/status.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import type { RunRecord } from '../../src/serve/schedule/record.js';
import { Pulling, startTown } from '../support/pulling.js';
import { read, serve, statusOf, terminate, until } from '../support/serving.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
const sizes = { topics: 5, people: 8, companies: 3, messages: 60, stories: 2, templates: 1, channels: 2 };
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startTown({ sizes });
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

const token = 'a-token-of-a-good-length';
/** Never by itself within this test. */
const yearly = { cron: '0 0 1 1 *', catchUp: false };

describe('serve', () => {
  it('pulls on schedule, shows it, takes orders behind its token, and lets others work beside it', async () => {
    const heard: { kind: string; text: string }[] = [];
    const hook = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text) => {
        body += text;
      });
      request.on('end', () => {
        heard.push(JSON.parse(body));
        response.end('ok');
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
    const webhook = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/secret-path`;
    const pulling = Pulling.into(folders, sandbox, {
      // The service goes away below: a job that waits for it is no failed job yet.
      api: { outageMinutes: 0.01 },
      serve: {
        jobs: [
          { name: 'often', run: 'sync+push', cron: '*/20 * * * * *' },
          { name: 'dump', run: 'export', ...yearly },
        ],
        freshness: { topics: 24, people: 0.0001 },
      },
    });
    const served = await serve(pulling, [], {
      SIGNALHOUSE_SERVE_TOKEN: token,
      SIGNALHOUSE_WEBHOOK_URL: webhook,
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
    expect(readdirSync(join(pulling.dataDir, 'reports', 'dump'))).toContain('topics.parquet');

    // Decisions over HTTP, by the rules of an import; a job that runs just now is said to be in the way.
    const topic = [...sandbox.world.topics.values()].find(
      (one) => one.graphStatus === 'active',
    ) as StoredTopic;
    const priority = topic.priority === 'high' ? 'low' : 'high';
    const send = async (rows: object[], given = token) =>
      until(
        () =>
          fetch(`${served.url}/changes?by=Kim`, {
            method: 'POST',
            headers: { authorization: `Bearer ${given}`, 'content-type': 'application/json' },
            body: JSON.stringify(rows),
          }),
        ({ status }) => status !== 503,
      );
    expect((await send([{ topic_id: topic.id, priority }], 'another-token-than-that')).status).toBe(401);
    const wrong = await send([
      { topic_id: topic.id, priority },
      { topic_id: topic.id, priority: 'urgent' },
    ]);
    expect([wrong.status, await wrong.json()]).toEqual([
      422,
      { queued: 0, problems: [expect.objectContaining({ row: 2, column: 'priority', value: 'urgent' })] },
    ]);
    const taken = await send([{ topic_id: topic.id, priority }]);
    expect([taken.status, await taken.json()]).toEqual([200, { queued: 1, problems: [] }]);
    await until(
      () => statusOf(served),
      ({ facts }) => facts?.queue.applied === 1,
    );
    expect(sandbox.world.topics.get(topic.id)?.priority).toBe(priority);

    const metrics = await until(
      () => read(served, '/metrics'),
      (text) => text.includes(`signalhouse_rows{table="topics"} ${topics}`),
    );
    for (const line of [
      /signalhouse_runs_total\{job="often",outcome="done"\} \d/,
      /signalhouse_api_requests_total\{endpoint="topic",status="200"\} \d/,
      /signalhouse_rows_total\{table="topics",change="new"\} [1-9]/,
      /signalhouse_freshness_seconds\{resource="topics"\} [\d.]+/,
      /signalhouse_freshness_objective_seconds\{resource="topics"\} 86400/,
      /signalhouse_queue_changes\{status="applied"\} 1/,
      /signalhouse_due 0/,
      /signalhouse_warehouse_bytes\{file="worker"\} \d/,
    ]) {
      expect(metrics).toMatch(line);
    }
    expect(await read(served, '/')).toContain('often');

    // One change of state, one message: the service goes away for two runs, and comes back.
    // A run that is under way when it goes is told of as incomplete, besides.
    const ofJobs = () => heard.filter(({ kind, text }) => kind === 'job' && !text.includes('is incomplete'));
    const outcomes = async () => (await statusOf(served)).schedule.history;
    const ran = async (wanted: string, times: number) => {
      const isWanted = ({ job, outcome }: RunRecord) => job === 'often' && outcome === wanted;
      await post('/jobs/often/run', token);
      await until(outcomes, (history) => history.filter(isWanted).length >= times);
    };
    sandbox.addFaults([{ match: {}, kind: 'status', status: 503 }]);
    await ran('failed', 1);
    await ran('failed', 2);
    sandbox.clearFaults();
    await until(
      async () => {
        await post('/jobs/often/run', token);
        return ofJobs().length;
      },
      (count) => count === 2,
    );
    expect(ofJobs().map(({ text }) => text)).toEqual([
      expect.stringContaining('job often failed'),
      expect.stringContaining('job often has recovered'),
    ]);
    // Not all of them were asked for.
    expect((await outcomes()).some(({ trigger }) => trigger === 'schedule')).toBe(true);

    const { code, stdout, stderr } = await terminate(served);
    expect(code).toBe(0);
    expect(stdout + stderr).not.toMatch(/a-token-of|svc_sandbox|secret-path/);
    await new Promise((resolve) => hook.close(resolve));

    const told = await pulling.start(['status', '--json']).ended;
    const status = JSON.parse(told.stdout) as StatusReport;
    // People are older than their objective by now.
    expect([told.code, status.exitCode]).toEqual([3, 3]);
    expect(status.jobs?.map(({ name }) => name)).toEqual(['often', 'dump']);
    expect(status.freshness[0]).toMatchObject({ resource: 'topics', state: 'fresh' });
    expect(status.spent.slices.reduce((sum, one) => sum + one.requests, 0)).toBeGreaterThan(50);
  });

  it('a job that fails gives serve --once its exit code', async () => {
    const pulling = Pulling.into(folders, sandbox);
    const refused = await pulling.start(['serve', '--once', '--json'], { SIGNALHOUSE_API_KEY: 'svc_nobody' })
      .ended;
    expect(refused.code).toBe(5);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      exitCode: 5,
      runs: [{ outcome: 'failed', exitCode: 5 }],
    });
  });

  it('what is wrong with its settings is told at once, each by its name', async () => {
    const pulling = Pulling.into(folders, sandbox, {
      serve: {
        jobs: [
          { name: 'a b', run: 'sync', cron: '61 * * * *' },
          { name: 'x', run: 'sync', cron: '0 3 * * *', timezone: 'Europe/Nowhere' },
        ],
      },
    });
    const { code, stderr } = await pulling.start(['serve'], {
      SIGNALHOUSE_SERVE_TOKEN: 'short',
      SIGNALHOUSE_WEBHOOK_URL: 'http://hooks.example.com/x',
    }).ended;
    expect(code).toBe(2);
    for (const name of [
      'jobs[0].name',
      'jobs[0].cron',
      'jobs[1].timezone',
      'SIGNALHOUSE_SERVE_TOKEN',
      'SIGNALHOUSE_WEBHOOK_URL',
    ])
      expect(stderr).toContain(name);
  });

  it('a port that is taken is named', async () => {
    const pulling = Pulling.into(folders, sandbox, { serve: { jobs: [] } });
    const served = await serve(pulling);
    const port = new URL(served.url).port;
    const other = await pulling.start(['serve', '--port', port]).ended;
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('serve.port')]);
    expect((await terminate(served)).code).toBe(0);
  });
});
