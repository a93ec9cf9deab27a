import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { townOfFile } from '../support/pulling.js';
import { signalhouse } from '../support/signalhouse.js';
import { canMount, makeReadOnly, SmallDisk } from '../support/small-disk.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/main.js'));

const { pulling } = await townOfFile({ holds: 'nothing' });
/** A warehouse that one sync has filled; tests that change it make their own. */
const filled = pulling.dataDir;
const first = await pulling.run(['sync'], { SIGNALHOUSE_LOG_LEVEL: 'info' });

const run = (args: readonly string[], dataDir = filled, more: Record<string, string> = {}) =>
  pulling.run(args, { SIGNALHOUSE_DATA_DIR: dataDir, ...more });

/** What stands in a folder, byte by byte. Spending is no part of a warehouse. */
function contents(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => name !== 'spending.log');
  return Object.fromEntries(
    names.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}

describe('sync', () => {
  it('says what it did in 80 columns, without colour or cursor, and logs JSON lines', () => {
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/^Run \S+: done\n/);
    for (const heading of ['Requests', 'Rows', 'organization', '429s', 'left due', 'published']) {
      expect(first.stdout).toContain(heading);
    }
    const long = first.stdout.split('\n').filter((line) => line.length > 80 && !line.includes(filled));
    expect(long).toEqual([]);
    expect(first.stdout + first.stderr).not.toContain('\u001b');
    const lines = first.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ msg }) => msg)).toContain('phase started');
    expect(first.stdout + first.stderr).not.toContain('svc_sandbox');
  });

  it('that did not read every list to its end leaves nobody with the word that nothing is left', async () => {
    const dataDir = testFolder();
    cpSync(filled, dataDir, { recursive: true });
    const short = { jobs: [{ name: 'short', run: 'sync', cron: '@yearly', maxRequests: 3 }] };
    const config = join(testFolder(), 'short.yaml');
    writeFileSync(config, JSON.stringify({ serve: short }));
    const unknown = 'not known: not every list was read to its end';
    const { stdout: served } = await run(['serve', '--once', '--config', config], dataDir);
    const { stdout: status } = await run(['status'], dataDir);
    const [topic] = await pulling.rows<{ id: string }>('SELECT id FROM topics LIMIT 1');
    const { stdout: explained } = await run(['explain', 'topic', topic?.id ?? ''], dataDir);
    for (const text of [served, status, explained]) expect(text.replaceAll(/\s+/g, ' ')).toContain(unknown);
    expect(served).not.toContain('left due: nothing');
  });

  it('with --dry-run is a plan: no child is fetched', async () => {
    const dataDir = testFolder();
    const [dry, plan] = [
      await run(['sync', '--dry-run', '--json'], dataDir),
      await run(['plan', '--max-requests', '5'], dataDir),
    ];
    expect(dry.code).toBe(0);
    const report = JSON.parse(dry.stdout);
    expect(report.requests.children).toBeGreaterThan(50);
    expect(report.spent).toBeLessThan(15);
    expect(plan.code).toBe(0);
    expect(plan.stdout).toContain('Planned sync');
    expect(plan.stdout).toContain('left for later');
  });

  it('refuses a resource that there is not before anything is asked or made, with the names of those there are', async () => {
    const dataDir = join(testFolder(), 'new');
    const { code, stderr } = await run(['sync', '--only', 'topicz'], dataDir);
    expect(code).toBe(2);
    expect(stderr).toContain('--only: topicz');
    expect(stderr).toContain('topic_groups');
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('a key', () => {
  it('that is refused ends with exit 5 and leaves no file', async () => {
    const parent = testFolder();
    for (const key of ['svc_expired', 'svc_never_seen']) {
      const dataDir = join(parent, 'new');
      const { code, stdout, stderr } = await run(['sync'], dataDir, { SIGNALHOUSE_API_KEY: key });
      expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
      expect(stderr).toContain('SIGNALHOUSE_API_KEY');
      expect(stderr).not.toContain(key);
      expect(existsSync(dataDir)).toBe(false);
    }
  });

  it('that is refused where a directory was there already is known to status', async () => {
    const more = { SIGNALHOUSE_API_KEY: 'svc_expired' };
    const dataDir = testFolder();
    expect((await run(['sync'], dataDir, more)).code).toBe(5);
    expect((await run(['status'], dataDir)).code).toBe(3);
  });

  it('of another organization ends with exit 5 before a byte is written', async () => {
    const before = contents(filled);
    const other = { SIGNALHOUSE_API_KEY: 'svc_other_organization' };
    for (const command of ['sync', 'plan']) {
      const { code, stdout } = await run([command, '--json'], filled, other);
      expect(code).toBe(5);
      expect(JSON.parse(stdout).error).toMatchObject({
        name: 'RefusedError',
        message: expect.stringContaining('org_other'),
      });
    }
    expect(contents(filled)).toEqual(before);
  });
});

describe('status', () => {
  it('of nothing is not well: the folder may be mistyped, or its volume lost', async () => {
    const { code, stdout } = await signalhouse(['status'], { cwd: testFolder() });
    expect(code).toBe(3);
    expect(stdout).toContain('NOTHING YET: run signalhouse sync');
  });
});

describe('doctor', () => {
  it('finds everything well', async () => {
    const { code, stdout } = await run(['doctor', '--json']);
    const { checks } = JSON.parse(stdout);
    expect(checks.filter(({ state }: { state: string }) => state !== 'ok')).toEqual([]);
    expect(checks.map(({ name }: { name: string }) => name)).toEqual([
      'settings',
      'memory',
      'data directory',
      'disk',
      'permissions',
      'key',
      'organization',
      'clock',
      'paging',
      'lock',
      'warehouse',
      'keys',
      'owner',
      'extensions',
    ]);
    expect(code).toBe(0);
  });

  it.each([
    ['a missing key', { SIGNALHOUSE_API_KEY: '' }, 2, 'SIGNALHOUSE_API_KEY'],
    ['an expired key', { SIGNALHOUSE_API_KEY: 'svc_expired' }, 5, 'fail  key'],
    ["another organization's key", { SIGNALHOUSE_API_KEY: 'svc_other_organization' }, 5, 'fail  owner'],
    ['nobody who answers', { SIGNALHOUSE_BASE_URL: 'http://127.0.0.1:9/v1' }, 1, 'fail  service'],
  ])('finds %s', async (_, wrong, exit, said) => {
    const { code, stdout } = await run(['doctor'], filled, wrong);
    expect(code).toBe(exit);
    expect(stdout).toContain(said);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(
      80 + filled.length,
    );
  });

  it('finds a published file that cannot be read', async () => {
    const dataDir = testFolder();
    cpSync(filled, dataDir, { recursive: true });
    const path = join(dataDir, 'signals.duckdb');
    rmSync(path);
    writeFileSync(path, 'half of a copy');
    // What somebody else left beside it is another problem, and does not hide this one.
    writeFileSync(`${path}.wal`, 'a log');
    const { code, stdout } = await run(['doctor', '--json'], dataDir);
    expect([code, states(stdout)]).toEqual([
      1,
      expect.objectContaining({ 'published file': 'fail', warehouse: 'ok' }),
    ]);
    const { checks } = JSON.parse(stdout);
    const [log, found] = checks.filter(({ name }: { name: string }) => name === 'published file');
    expect([log.state, log.text]).toEqual(['warn', expect.stringContaining('signals.duckdb.wal')]);
    expect([found.text, found.hint]).toEqual([
      expect.stringContaining(`${path} cannot be opened`),
      expect.stringContaining('signalhouse rebuild'),
    ]);
  });

  it('warns of a key file that others can read, and leaves no file in a new place', async () => {
    const folder = testFolder();
    const keyFile = join(folder, 'key');
    writeFileSync(keyFile, 'svc_sandbox\n', { mode: 0o644 });
    const more = { SIGNALHOUSE_API_KEY: '', SIGNALHOUSE_API_KEY_FILE: keyFile };
    const { code, stdout } = await run(['doctor'], join(folder, 'none'), more);
    expect(code).toBe(0);
    expect(stdout).toContain('warn  key file');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`chmod 600 ${keyFile}`);
    expect(existsSync(join(folder, 'none'))).toBe(false);
  });

  const states = (stdout: string): Record<string, string> =>
    Object.fromEntries(
      JSON.parse(stdout).checks.map(({ name, state }: Record<string, string>) => [name, state]),
    );

  const spendingLog = () => {
    const path = join(filled, 'spending.log');
    writeFileSync(path, '', { flag: 'a' });
    return path;
  };

  it.runIf(canMount).each([
    ['a data directory', () => filled, { 'data directory': 'fail', warehouse: 'fail' }],
    ['a warehouse', () => join(filled, 'worker.duckdb'), { 'data directory': 'ok', warehouse: 'fail' }],
    ['a record of requests', spendingLog, { 'data directory': 'ok', warehouse: 'fail' }],
  ])('finds %s that may not be written', async (_, path, expected) => {
    const unwritable = path();
    const before = contents(filled);
    const undo = makeReadOnly(unwritable);
    try {
      const { code, stdout } = await run(['doctor', '--json']);
      expect([code, states(stdout)]).toEqual([1, expect.objectContaining({ ...expected, key: 'ok' })]);
      const failed = JSON.parse(stdout).checks.filter(({ state }: { state: string }) => state === 'fail');
      for (const { text, hint } of failed)
        expect([text, hint]).toEqual([
          expect.stringContaining(unwritable),
          expect.stringContaining('SIGNALHOUSE_DATA_DIR'),
        ]);
    } finally {
      undo();
    }
    expect(contents(filled)).toEqual(before);
  });

  it.runIf(canMount)('finds a disk with too little space', async () => {
    const disk = new SmallDisk(40);
    try {
      const { code, stdout } = await run(['doctor', '--json'], join(disk.path, 'data'));
      expect([code, states(stdout)]).toEqual([
        1,
        expect.objectContaining({ 'data directory': 'ok', disk: 'fail' }),
      ]);
    } finally {
      disk.remove();
    }
  });

  it('finds a data directory that cannot be one', async () => {
    const file = join(testFolder(), 'file');
    writeFileSync(file, '');
    const { code, stdout } = await run(['doctor'], join(file, 'data'));
    expect(code).toBe(2);
    expect(stdout).toMatch(/fail {2}settings .*is\s+below\s+a\s+file/s);
    expect(statSync(file).size).toBe(0);
  });
});
