import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import type { Tuning } from '../../src/config/load.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { OrganizationLine } from '../../src/serve/page/organizations.js';
import { startTown } from '../support/pulling.js';
import { read, serve, terminate, until } from '../support/serving.js';
import { type Running, signalhouse, start } from '../support/signalhouse.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/status.js'));

/** Three organizations in one file: `fine`, `refused` with a key that nobody knows, and `down`, whose API answers nothing but 503. */
class Fleet {
  readonly folder = testFolder();
  readonly file = join(this.folder, 'signalhouse.yaml');
  readonly env = { SIGNALHOUSE_CONFIG: this.file, SIGNALHOUSE_LOG_LEVEL: 'info' };
  tuning: Tuning | undefined;

  private constructor(
    readonly fine: Sandbox,
    readonly down: Sandbox,
  ) {}

  static async start(): Promise<Fleet> {
    const [fine, down] = [await startTown(), await startTown({ sizes: { seed: 6 } })];
    down.addFaults([{ kind: 'status', status: 503 }]);
    const fleet = new Fleet(fine, down);
    fleet.write();
    return fleet;
  }

  write(more: object = {}, ofFine: object = {}, unreachable: readonly string[] = []): void {
    const keyFile = (name: string, key: string) => {
      const path = join(this.folder, `key-${name}`);
      writeFileSync(path, key);
      return path;
    };
    const of = (name: string, sandbox: Pick<Sandbox, 'baseUrl' | 'apiKey'>, key = sandbox.apiKey) => ({
      name,
      api: { baseUrl: sandbox.baseUrl, keyFile: keyFile(name, key) },
    });
    const settings = {
      dataDir: join(this.folder, 'data'),
      rateLimit: { requests: 1_000_000, windowMs: 1_000 },
      api: { outageMinutes: 0.02 },
      serve: { jobs: [{ name: 'nightly', run: 'sync+push', cron: '0 3 * * *' }] },
      ...more,
      organizations: [
        of('refused', this.fine, 'a-key-that-nobody-knows'),
        of('down', this.down),
        ...unreachable.map((name) => of(name, { baseUrl: 'http://127.0.0.1:9/v1', apiKey: name })),
        { ...of('fine', this.fine), ...ofFine },
      ],
    };
    writeFileSync(this.file, stringify(settings));
  }

  dataDir(name: string): string {
    return join(this.folder, 'data', name);
  }

  start(args: readonly string[], env: Record<string, string> = {}): Running {
    return start(args, { env: { ...this.env, ...env }, tuning: this.tuning });
  }

  run(...args: string[]) {
    return signalhouse(args, { env: this.env });
  }

  async stop(): Promise<void> {
    await this.fine.stop();
    await this.down.stop();
  }
}

let fleet: Fleet;
beforeEach(async () => {
  fleet = await Fleet.start();
});
afterEach(() => fleet.stop());

const states = (lines: readonly OrganizationLine[]) =>
  lines.map(({ organization, state }) => [organization, state]);

it('serve runs all: the fine one is on time, and page, metrics and status say which are not, and why', async () => {
  const served = await serve(fleet, [], { SIGNALHOUSE_SERVE_TOKEN: 'a-token-of-a-good-length' });
  onTestFinished(async () => void (await terminate(served)));
  const shown = (path: string) => read(served, path);
  const lines = async () => JSON.parse(await shown('/organizations.json')) as OrganizationLine[];
  const settled = await until(lines, (all) =>
    all.every(({ state, doing }) => (state === 'failing' || state === 'well') && doing === null),
  );
  expect(states(settled).at(-1)).toEqual(['fine', 'well']);
  const why = new Map(settled.map(({ organization, problems }) => [organization, problems[0]?.reason]));
  expect(why.get('refused')).toContain('API key is invalid');
  expect(why.get('down')).toContain('unavailable');
  expect(settled.at(-1)?.lastSuccessAt).not.toBeNull();

  // The page, and each one's own below it, with links that stay there.
  const page = await shown('/');
  expect(page.indexOf('href="/o/refused/"')).toBeGreaterThan(0);
  expect(page.indexOf('href="/o/fine/"')).toBeGreaterThan(page.indexOf('href="/o/down/"'));
  expect(page).toContain('nightly failed');
  const own = await shown('/o/fine/');
  expect(own).toContain('href="/o/fine/runs/');
  const links = [...own.matchAll(/href="(\/[^"#?]*)/g)].map(([, link = '']) => link);
  for (const link of new Set(links))
    expect([link, (await fetch(served.url + link)).status]).toEqual([link, 200]);
  expect(links.filter((link) => !/^\/(o\/fine\/|assets\/|metrics$|$)/.test(link))).toEqual([]);

  // Probes are about the process, metrics about all.
  expect((await fetch(`${served.url}/readyz`)).status).toBe(200);
  const metrics = await shown('/metrics');
  expect(metrics).toContain('signalhouse_last_exit_code{job="nightly",organization="refused"} 5');
  expect(metrics).toContain('signalhouse_last_exit_code{job="nightly",organization="fine"} 0');
  expect(metrics).toMatch(/signalhouse_disk_free_bytes\{organization="down"\} \d/);
  expect(metrics).toMatch(/signalhouse_rows\{table="topics",organization="fine"\} \d/);

  // The command says the same while it serves.
  const { code, stdout } = await fleet.run('status', '--all', '--json');
  expect([code, states(JSON.parse(stdout) as OrganizationLine[])]).toEqual([3, states(settled)]);
  const text = await fleet.run('status', '--all');
  expect(text.stdout).toMatch(/refused +failing[^\n]*nightly failed: .*401/);
  expect(text.stdout.trimEnd().split('\n').at(-1)).toMatch(/^ *fine +well/);

  // One of them can be run by its own address.
  const post = await fetch(`${served.url}/o/fine/jobs/nightly/run`, {
    method: 'POST',
    headers: { authorization: 'Bearer a-token-of-a-good-length' },
  });
  expect(post.status).toBe(202);
  expect(await shown('/o/nobody/')).toContain('not_found');
});

it('three whose API does not answer hold up no other: their runs end, and each is tried again', async () => {
  fleet.write({ api: { outageMinutes: 30 } }, {}, ['away', 'gone']);
  fleet.tuning = { jobOutageMinutes: 0.02 };
  const served = await serve(fleet);
  onTestFinished(async () => void (await terminate(served)));
  const lines = async () => JSON.parse(await read(served, '/organizations.json')) as OrganizationLine[];
  const down = ['down', 'away', 'gone'];
  const settled = await until(lines, (all) =>
    all.every(({ organization, state, problems }) =>
      down.includes(organization)
        ? problems[0]?.title === 'The API does not answer'
        : state === (organization === 'fine' ? 'well' : 'failing'),
    ),
  );
  const reason = settled.find(({ organization }) => organization === 'down')?.problems[0]?.reason;
  expect(reason).toMatch(/no answer since .*; the next try is at /);
  expect(await read(served, '/metrics')).toMatch(
    /signalhouse_runs_total\{job="nightly",outcome="unavailable",organization="gone"\} 1/,
  );
  const status = await fleet.run('status', '--organization', 'away');
  expect(status.stdout.replace(/\s+/g, ' ')).toMatch(/The API does not answer: .*the next try is at/);
}, 60_000);

describe('--all', () => {
  it('syncs and pushes each; one that fails is named, and the exit code is the worst', async () => {
    const { code, stdout } = await fleet.run('sync', '--all', '--json');
    const all = JSON.parse(stdout) as {
      organization: string;
      exitCode: number;
      error: { message: string } | null;
    }[];
    expect([code, all.map(({ organization, exitCode }) => [organization, exitCode])]).toEqual([
      5,
      [
        ['refused', 5],
        ['down', 1],
        ['fine', 0],
      ],
    ]);
    fleet.down.clearFaults();
    const again = await fleet.run('sync', '--all');
    expect(again.code).toBe(5);
    expect(again.stdout).toContain('FAILED: ');
    const pushed = await fleet.run('push', '--all', '--json');
    expect(pushed.code).toBe(1);
    expect((JSON.parse(pushed.stdout) as { exitCode: number }[]).map((one) => one.exitCode)).toEqual([
      1, 0, 0,
    ]);
  });

  it('forgets somebody wherever that person is held, after one preview of all', async () => {
    await fleet.run('sync', '--organization', 'fine');
    const [person, other] = [...fleet.fine.world.people.keys()].slice(-2);
    const preview = await fleet.run('forget', 'person', String(person), '--all', '--dry-run');
    expect([preview.code, preview.stdout]).toEqual([0, expect.stringContaining('1 person')]);
    const unasked = await fleet.run('forget', 'person', String(person), '--all', '--json');
    expect([unasked.code, unasked.stdout]).toEqual([2, expect.stringContaining('in fine')]);
    const done = await fleet.run('forget', 'person', String(person), '--all', '--yes', '--json');
    const outcomes = JSON.parse(done.stdout) as {
      organization: string;
      report: { outcome: string } | null;
    }[];
    expect(outcomes.map(({ organization, report }) => [organization, report?.outcome])).toEqual([
      ['refused', 'nothing_held'],
      ['down', 'nothing_held'],
      ['fine', 'forgotten'],
    ]);
    expect(done.code).toBe(0);
    const told = await fleet.run('forget', 'person', String(other), '--all', '--yes');
    expect([told.code, told.stdout]).toEqual([0, expect.stringMatching(/table +rows/)]);
    expect((await fleet.run('forget', 'person', 'nobody-1', '--all', '--yes')).code).toBe(1);
  });
});
