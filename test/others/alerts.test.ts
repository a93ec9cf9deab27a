import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { FaultRuleInput } from '../../src/sandbox/faults.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { Metrics } from '../../src/serve/http/metrics.js';
import { Pulling, startTown } from '../support/pulling.js';
import { changeable } from '../support/pushing.js';
import { type Served, statusOf, terminate, until } from '../support/serving.js';
import { testFolder } from '../support/test-folders.js';
import { now, someFacts, someRun, someSchedule } from '../unit/serve/serving.js';

/** The alerts in deploy/prometheus with a real Prometheus, which scrapes a real serve through everything that can go wrong. */

const folder = fileURLToPath(new URL('../../deploy/', import.meta.url));
const rulesFile = `${folder}prometheus/signalhouse.rules.yml`;
const hasPrometheus = ['prometheus', 'promtool'].every((name) => spawnSync(name, ['--version']).status === 0);
beforeEach(({ skip }) => skip(!hasPrometheus, 'no promtool here: install the package prometheus'));

describe('promtool', () => {
  it.each([
    ['check', 'rules', 'signalhouse.rules.yml'],
    ['check', 'config', 'prometheus.yml'],
    ['test', 'rules', 'signalhouse.test.yml'],
  ])('%s %s %s', (...args) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      cwd: `${folder}prometheus`,
      encoding: 'utf8',
    });
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });

  it('finds nothing wrong with the names of the metrics', async () => {
    const metrics = new Metrics({ process: true, version: '1.2.3' });
    metrics.request({ endpoint: 'topics', status: 200, ms: 120 });
    metrics.run(someRun);
    metrics.served('/', 200, 3);
    const input = await metrics.render(someFacts, someSchedule, now);
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input,
      encoding: 'utf8',
    });
    expect([status, stdout + stderr]).toEqual([0, '']);
  });
});

// Without a lake, and without a month of random checks, promtool alone tests the rules about them.
const alerts: string[] = parse(readFileSync(rulesFile, 'utf8'))
  .groups[0].rules.map(({ alert }: { alert: string }) => alert)
  .filter((alert: string) => !['SignalhouseLakeBehind', 'SignalhouseOutOfDate'].includes(alert));

/** The rules with days and hours that take seconds; promtool tests the real ones. Ages that a clock can fake stay. */
function hastyRules(): string {
  return readFileSync(rulesFile, 'utf8')
    .replaceAll(/^( +for:) \w+$/gm, '$1 1s')
    .replaceAll(/\[1h\]/g, '[10s]')
    .replaceAll(/\[2d\]|offset 2d/g, (text) => text.replace('2d', '4s'))
    .replaceAll('offset 7d', 'offset 10s')
    .replaceAll('signalhouse_api_unavailable_seconds > 300', 'signalhouse_api_unavailable_seconds > 1');
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A Prometheus that scrapes this port every second. */
class Prometheus {
  /** The alerts that have fired so far, and those that stopped firing after that. */
  readonly fired = new Set<string>();
  readonly cleared = new Set<string>();
  #markedAt = Date.now();
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(
    readonly url: string,
    child: ChildProcess,
  ) {
    this.#child = child;
    this.#ended = new Promise((resolve) => child.on('close', resolve));
  }

  static async start(target: number): Promise<Prometheus> {
    const dir = testFolder();
    const port = await freePort();
    writeFileSync(join(dir, 'signalhouse.rules.yml'), hastyRules());
    const config = readFileSync(`${folder}prometheus/prometheus.yml`, 'utf8')
      .replaceAll('30s', '1s')
      .replace('localhost:8080', `127.0.0.1:${target}`);
    writeFileSync(join(dir, 'prometheus.yml'), config);
    const address = `127.0.0.1:${port}`;
    const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', '--log.level=error'];
    const child = spawn('prometheus', [...args, `--web.listen-address=${address}`], {
      cwd: dir,
      stdio: 'ignore',
    });
    const prometheus = new Prometheus(`http://${address}`, child);
    const isReady = () =>
      fetch(`${prometheus.url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(isReady, (ready) => ready);
    return prometheus;
  }

  /** Waits until all of these have fired since the last `mark`: Prometheus keeps what was, so nobody has to watch. */
  async fires(...names: string[]): Promise<void> {
    const from = this.#markedAt;
    await until(
      () =>
        this.#namesOf(
          `count_over_time(ALERTS{alertstate="firing"}[${Math.max(1, Math.ceil((Date.now() - from) / 1000))}s])`,
        ),
      (seen) => names.every((name) => seen.has(name)),
    );
    for (const name of names) this.fired.add(name);
  }

  /** Waits until none of these fires. */
  async clears(...names: string[]): Promise<void> {
    await until(
      () => this.#namesOf('ALERTS{alertstate="firing"}'),
      (now) => names.every((name) => !now.has(name)),
    );
    for (const name of names) if (this.fired.has(name)) this.cleared.add(name);
  }

  /** From now on, what fired before does not count. */
  mark(): void {
    this.#markedAt = Date.now();
  }

  async #namesOf(expr: string): Promise<Set<string>> {
    const series = (await this.query(expr)) as { metric: { alertname: string } }[];
    return new Set(series.map(({ metric }) => metric.alertname));
  }

  async query(expr: string): Promise<unknown[]> {
    const answer = await fetch(`${this.url}/api/v1/query?${new URLSearchParams({ query: expr })}`);
    const { error, data } = (await answer.json()) as { error?: string; data?: { result: unknown[] } };
    if (!data) throw new Error(`${expr}: ${error}`);
    return data.result;
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#ended;
  }
}

describe('with a real Prometheus', () => {
  const token = 'a-token-of-a-good-length';
  let sandbox: Sandbox | undefined;
  let prometheus: Prometheus | undefined;
  let served: Served | undefined;
  afterEach(async () => {
    if (served) await terminate(served);
    await prometheus?.stop();
    await sandbox?.stop();
  });

  it('every alert fires and clears: a stale night, an outage, a refused key, and the rest; every panel has data', async () => {
    sandbox = await startTown();
    const town = sandbox;
    const port = await freePort();
    const yearly = { cron: '0 0 1 1 *', catchUp: false };
    const nightly = { name: 'nightly', run: 'sync+push', cron: '0 3 * * *', catchUp: false };
    const short = { name: 'short', run: 'sync', maxRequests: 12, ...yearly };
    const pulling = Pulling.into(town, { serve: { port, jobs: [{ ...nightly, catchUp: true }] } });

    // The last night that succeeded was 27 hours ago, by the clocks of the service and of this machine.
    const behindMs = 27 * 3_600_000;
    town.skewClock(-behindMs);
    const clock = fileURLToPath(new URL('../support/clock-ahead.mjs', import.meta.url));
    const ago = { NODE_OPTIONS: `--import=${clock}`, CLOCK_AHEAD_MS: String(-behindMs) };
    const night = await pulling.start(['serve', '--once', '--json'], ago).ended;
    expect(JSON.parse(night.stdout)).toMatchObject({ runs: [{ job: 'nightly', outcome: 'done' }] });
    town.skewClock(0);
    const often = { name: 'dump', run: 'export', cron: '*/10 * * * * *', catchUp: false };
    pulling.set({ serve: { port, jobs: [nightly, short, often] } });
    // A run that waits for the API for as long as the alerts take to fire.
    pulling.tuning = { jobOutageMinutes: 10 };

    // Nothing listens yet; then something does, and cannot read its warehouse.
    const monitor = await Prometheus.start(port);
    prometheus = monitor;
    await monitor.fires('SignalhouseDown');
    const published = join(pulling.dataDir, 'signals.duckdb');
    copyFileSync(published, `${published}.good`);
    writeFileSync(published, 'not a database');
    const running = pulling.start(['serve', '--json'], { SIGNALHOUSE_SERVE_TOKEN: token });
    served = { running, url: `http://127.0.0.1:${port}` };
    const worker = served;
    await monitor.fires('SignalhouseNotReady');
    await monitor.clears('SignalhouseDown');
    copyFileSync(`${published}.good`, published);

    // The stale night.
    await monitor.fires('SignalhouseStale', 'SignalhouseNotRunning');
    await monitor.clears('SignalhouseNotReady');
    const headers = { authorization: `Bearer ${token}` };
    const post = (path: string, body?: object) =>
      fetch(worker.url + path, {
        ...(body && { body: JSON.stringify(body) }),
        method: 'POST',
        headers: body ? { ...headers, 'content-type': 'application/json' } : headers,
      });
    const historyOf = async (name: string) =>
      (await statusOf(worker)).schedule.history.filter(({ job }) => job === name);
    /** Starts a job, and waits for its end unless `meanwhile` brings that about. */
    const run = async (name: string, meanwhile: () => Promise<void> = async () => undefined) => {
      const [before] = await historyOf(name);
      expect((await post(`/jobs/${name}/run`)).status).toBe(202);
      await meanwhile();
      const [last] = await until(
        () => historyOf(name),
        ([latest]) => latest !== undefined && latest.endedAt !== before?.endedAt,
      );
      return last;
    };
    expect(await run('nightly')).toMatchObject({ outcome: 'done' });
    await monitor.clears('SignalhouseStale', 'SignalhouseNotRunning');

    // An outage, during which another job is due.
    monitor.mark();
    const everything = (status: number): FaultRuleInput => ({ kind: 'status', status });
    town.addFaults([everything(503)]);
    const waited = await run('nightly', async () => {
      await monitor.fires('SignalhouseApiUnavailable', 'SignalhouseApiErrors');
      await monitor.fires('SignalhouseJobSkipped');
      town.clearFaults();
    });
    expect(waited?.message).toContain('the API was unavailable for');
    await monitor.clears('SignalhouseApiUnavailable', 'SignalhouseApiErrors', 'SignalhouseJobSkipped');

    // A refused key.
    monitor.mark();
    town.addFaults([everything(401)]);
    expect(await run('nightly')).toMatchObject({ outcome: 'failed', exitCode: 5 });
    await monitor.fires('SignalhouseKeyRefused', 'SignalhouseJobFailed');
    town.clearFaults();
    await run('nightly');
    await monitor.clears('SignalhouseKeyRefused', 'SignalhouseJobFailed');

    // Somebody else uses the key, and one list fails.
    monitor.mark();
    town.addFaults([
      { kind: 'status', status: 429, match: { route: 'topics' }, times: 1 },
      { kind: 'status', status: 500, match: { route: 'channels' } },
    ]);
    expect(await run('nightly')).toMatchObject({ outcome: 'incomplete' });
    await monitor.fires('SignalhouseRateLimited', 'SignalhouseJobIncomplete');
    town.clearFaults();
    await monitor.clears('SignalhouseRateLimited', 'SignalhouseJobIncomplete');

    // A run that cannot do everything, and a change that the API refuses.
    monitor.mark();
    town.advance(3);
    expect(await run('short')).toMatchObject({ outcome: 'stopped' });
    const [topic] = changeable(town);
    const priority = topic?.priority === 'high' ? 'low' : 'high';
    const queued = await until(
      () => post('/changes?by=Kim', [{ topic_id: topic?.id, priority }]),
      ({ status }) => status !== 503,
    );
    expect(queued.status).toBe(200);
    await monitor.fires('SignalhouseBacklog');
    town.addFaults([{ kind: 'status', status: 422, match: { route: 'update_topic' } }]);
    expect(await run('nightly')).toMatchObject({ outcome: 'incomplete' });
    await monitor.fires('SignalhouseChangesOpen');
    await monitor.clears('SignalhouseBacklog');
    town.clearFaults();
    const retried = await pulling.start(['changes', 'retry', '--status', 'failed', '--wait']).ended;
    expect([retried.code, retried.stderr]).toEqual([0, '']);
    expect(await run('nightly')).toMatchObject({ outcome: 'done' });
    await monitor.clears('SignalhouseChangesOpen');

    // The live file grows, while no job has it open.
    monitor.mark();
    const live = join(pulling.dataDir, 'worker.duckdb');
    const { size } = statSync(live);
    const { bavail, bsize } = statfsSync(pulling.dataDir);
    truncateSync(live, Math.max(2e9, bavail * bsize));
    await monitor.fires('SignalhouseWarehouseGrows', 'SignalhouseDiskFull');
    truncateSync(live, size);
    await monitor.clears('SignalhouseWarehouseGrows', 'SignalhouseDiskFull');

    expect([...monitor.fired].sort()).toEqual([...alerts].sort());
    expect([...monitor.cleared].sort()).toEqual([...alerts].sort());

    // The dashboard, on what was just scraped.
    await fetch(worker.url);
    const { panels } = JSON.parse(readFileSync(`${folder}grafana/signalhouse.json`, 'utf8')) as {
      panels: { title: string; targets?: { expr: string }[] }[];
    };
    for (const { title, targets = [] } of panels) {
      for (const { expr } of targets) {
        const query = expr
          .replaceAll(/\$instance|\$organization/g, '.*')
          .replaceAll('$__rate_interval', '1m');
        expect([title, expr, await monitor.query(query)]).not.toEqual([title, expr, []]);
      }
    }
  });
});
