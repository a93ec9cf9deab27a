import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { killedAt } from '../support/killed-at.js';
import { Pulling, townOfFile } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

const { sandbox } = await townOfFile({ holds: 'nothing' });
const script = fileURLToPath(new URL('../../scripts/lake-services.sh', import.meta.url));
/** Of one extension, from the cache or from PyPI. */
const extensionDirectory = execFileSync('bash', [script, 'extensions'], { encoding: 'utf8' }).trim();
/** Text that people wrote, and names and addresses of people: nothing of it may be readable in any byte. */
const needles = [
  ...[...sandbox.world.people.values()].flatMap((person) => [person.displayName, person.primaryEmail]),
  ...[...sandbox.world.messages.values()].map((message) => message.content),
].flatMap((text) => (typeof text === 'string' && text.length > 11 ? [Buffer.from(text)] : []));
const anyTopic =
  'SELECT any_value(id) FROM topics WHERE deleted_at IS NULL AND detail_unavailable_reason IS NULL';
/** A pulled and encrypted data directory, of which tests take copies. */
const pulled = empty();
beforeAll(async () => {
  expect(await pulled.pulling.sync()).toMatchObject({ code: 0, stderr: '' });
});

/** A data directory that is encrypted with the key that the pulled one has. */
function encrypted(): { pulling: Pulling; key: string } {
  const { pulling } = empty();
  cpSync(pulled.pulling.dataDir, pulling.dataDir, { recursive: true });
  pulling.env.SIGNALHOUSE_ENCRYPTION_KEY_FILE = pulled.key;
  return { pulling, key: pulled.key };
}

/** A data directory that will be encrypted with a key of its own. */
function empty(): { pulling: Pulling; key: string } {
  const pulling = Pulling.into(sandbox, { duckdb: { extensionDirectory } });
  const key = newKey(`${pulling.dataDir}.key`);
  pulling.env.SIGNALHOUSE_ENCRYPTION_KEY_FILE = key;
  return { pulling, key };
}

function newKey(path: string): string {
  writeFileSync(path, randomBytes(32).toString('base64'), { mode: 0o600 });
  return path;
}

/** The files of a data directory that have any of these texts in their bytes. */
function readable(dataDir: string): string[] {
  return filesIn(dataDir).filter((path) => {
    // A file may go while the program works.
    const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
    return needles.some((needle) => bytes.includes(needle));
  });
}

function filesIn(dataDir: string): string[] {
  if (!existsSync(dataDir)) return [];
  return readdirSync(dataDir, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
}

function digests(dataDir: string): string[] {
  return filesIn(dataDir).map(
    (path) => `${path} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`,
  );
}

test('what is not encrypted can be read in the bytes of the files: so that the other tests can fail', async () => {
  const pulling = await Pulling.filled(sandbox);
  expect(needles.length).toBeGreaterThan(100);
  expect(readable(pulling.dataDir).length).toBeGreaterThan(0);
});

describe('encrypted', () => {
  test('what a query spills is not readable, either', async () => {
    const { pulling } = encrypted();
    const needle = 'a text that is spilled';
    const sql = `SELECT count(*) AS n FROM (SELECT repeat('${needle}', 5) || range AS m, range
      FROM range(100_000_000) ORDER BY hash(range)) WHERE sqrt(range) > 7 AND m <> ''`;
    const { child, ended } = pulling.start(['sql', sql], {
      SIGNALHOUSE_WAREHOUSE_QUERY_MEMORY_LIMIT: '64MB',
    });
    const spilled = () => filesIn(pulling.dataDir).filter((path) => path.includes('.spill-'));
    const size = () => spilled().reduce((sum, path) => sum + statSync(path).size, 0);
    await expect.poll(size, { timeout: 60_000 }).toBeGreaterThan(10_000_000);
    child.kill('SIGKILL');
    await ended;
    for (const path of spilled()) expect([path, readFileSync(path).includes(needle)]).toEqual([path, false]);
  });

  test('nothing is readable during a pull, after a kill, and after a publication; the pull is complete', async () => {
    const { pulling, key } = empty();
    const found: string[] = [];
    const { child, ended } = pulling.start(['sync']);
    let running = true;
    const killed = ended.finally(() => {
      running = false;
    });
    for (let looks = 0; running; looks += 1) {
      found.push(...readable(pulling.dataDir));
      if (looks > 3 && existsSync(join(pulling.dataDir, 'worker.duckdb.wal'))) child.kill('SIGKILL');
      await delay(20);
    }
    await killed;
    expect(filesIn(pulling.dataDir).length).toBeGreaterThan(0);
    expect([...found, ...readable(pulling.dataDir)]).toEqual([]);

    const { code, stderr } = await pulling.sync();
    expect(`${code} ${stderr}`).toBe('0 ');
    const sheet = join(testFolder(), 'sheet.csv');
    const topic = await answer(pulling, anyTopic);
    writeFileSync(sheet, `id,priority,notes\n${topic},very_low,${needles[0]}\n`);
    const imported = await pulling.run(['changes', 'import', sheet, '--yes']);
    expect(`${imported.code} ${imported.stdout}`).toMatch(/^0 /);
    expect(readFileSync(join(pulling.dataDir, 'changes.journal'), 'utf8')).toMatch(/^sealed:[\w+/=]+\n$/);
    expect(readable(pulling.dataDir)).toEqual([]);
    // As another program opens it, and as the same data without a key.
    const plain = Pulling.into(sandbox);
    cpSync(pulling.dataDir, plain.dataDir, { recursive: true });
    plain.set({ duckdb: { extensionDirectory } });
    const off = await plain.run(['encrypt', '--off', '--old-key-file', key]);
    expect(`${off.code} ${off.stderr}`).toBe('0 ');
    expect(readable(plain.dataDir).length).toBeGreaterThan(0);
    expect(await plain.differences()).toEqual([]);
  });

  test('sql, status, export, report, explain and the queue work with the key', async () => {
    const { pulling } = encrypted();
    const topic = await answer(pulling, anyTopic);
    const out = join(testFolder(), 'people.csv');
    for (const args of [
      ['sql', 'SELECT count(*) AS people FROM people'],
      ['status'],
      ['export', 'people', '--out', out],
      ['report', '--out', `${out}.html`],
      ['explain', 'topic', topic],
      ['changes', 'list'],
      ['doctor'],
    ]) {
      const { code, stderr } = await pulling.run(args);
      expect(`${args[0]}: ${code} ${stderr}`).toBe(`${args[0]}: 0 `);
    }
  });

  test('a wrong key, no key, a key for plain files, and a missing extension are errors that change nothing', async () => {
    const { pulling, key } = encrypted();
    const before = digests(pulling.dataDir);
    const wrong = newKey(`${pulling.dataDir}.wrong`);
    const short = `${pulling.dataDir}.short`;
    writeFileSync(short, 'too short');
    const commands = [['sync'], ['sql', 'SELECT 1']];
    for (const [SIGNALHOUSE_ENCRYPTION_KEY_FILE, text] of [
      [wrong, 'another key'],
      ['', 'there is no key'],
      [short, 'at least 32'],
      [`${key}.missing`, 'cannot be read'],
    ] as const) {
      for (const args of commands) {
        const { code, stderr } = await pulling.run(args, { SIGNALHOUSE_ENCRYPTION_KEY_FILE });
        expect(`${args[0]} ${code} ${stderr}`).toContain(`${args[0]} 2 `);
        expect(stderr).toContain('SIGNALHOUSE_ENCRYPTION_KEY_FILE');
        expect(stderr.replaceAll(/\s+/g, ' ')).toContain(text);
        expect(stderr).not.toContain(readFileSync(wrong, 'utf8'));
      }
      // doctor says as well which setting it is about.
      const { stdout } = await pulling.run(['doctor'], { SIGNALHOUSE_ENCRYPTION_KEY_FILE });
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(text);
      expect(stdout).toContain('SIGNALHOUSE_ENCRYPTION_KEY_FILE');
    }
    const broken = testFolder();
    copyFileSync(key, join(broken, 'httpfs.duckdb_extension'));
    pulling.set({ duckdb: { extensionDirectory: broken } });
    const unreadable = await pulling.run(['sync']);
    expect(unreadable.code).toBe(2);
    expect(unreadable.stderr).toContain('httpfs');
    expect(digests(pulling.dataDir)).toEqual(before);

    const plain = await Pulling.filled(sandbox);
    plain.set({ duckdb: { extensionDirectory } });
    const { code, stderr } = await plain.run(['sync'], { SIGNALHOUSE_ENCRYPTION_KEY_FILE: key });
    expect(code).toBe(2);
    expect(stderr).toContain('signalhouse encrypt');
  });

  test('a lost live file is restored from the snapshot, not with another key', async () => {
    const { pulling } = encrypted();
    writeFileSync(join(pulling.dataDir, 'worker.duckdb'), 'broken');
    const wrong = newKey(`${pulling.dataDir}.wrong`);
    const refused = await pulling.run(['sync'], { SIGNALHOUSE_ENCRYPTION_KEY_FILE: wrong });
    expect(refused.code).toBe(2);
    pulling.isBroken = true;
    expect((await pulling.sync()).code).toBe(0);
    expect(readable(pulling.dataDir)).toEqual([]);
    expect(await rows(pulling, 'people')).toBe(sandbox.world.people.size);
  });

  test('a change of the key names files that have another one, and the old key where that is wrong', async () => {
    const { pulling, key } = encrypted();
    const { dataDir, env } = pulling;
    copyFileSync(join(dataDir, 'signals.duckdb'), join(dataDir, 'copy.duckdb'));
    writeFileSync(join(dataDir, 'worker.duckdb.broken-20260102T000000Z.wal'), 'what somebody wrote');
    env.SIGNALHOUSE_ENCRYPTION_KEY_FILE = newKey(`${dataDir}.new`);
    const other = newKey(`${dataDir}.other`);
    for (const [given, problem] of [
      [[], '--old-key-file: is required'],
      [['--old-key-file', other], '--old-key-file: is not the key'],
    ] as const) {
      const { code, stderr } = await pulling.run(['encrypt', ...given]);
      expect(code).toBe(2);
      expect(stderr).toContain(problem);
      expect(stderr).not.toContain('SIGNALHOUSE_ENCRYPTION_KEY_FILE');
    }
    // Whoever opens and closes the live file while DuckDB has it open frees its lock.
    const opensIt = killedAt({ call: 'openSync', match: '/worker.duckdb -> ', when: 'before' });
    const { code, stdout } = await pulling.run(['encrypt', '--old-key-file', key, '--json'], opensIt);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      left: ['copy.duckdb', 'worker.duckdb.broken-20260102T000000Z.wal'],
    });
  });

  test('a change of the key that is killed is completed by the same command', async () => {
    const { pulling, key } = encrypted();
    const people = await rows(pulling, 'people');
    const now = newKey(`${pulling.dataDir}.new`);
    pulling.env.SIGNALHOUSE_ENCRYPTION_KEY_FILE = now;
    const { child, ended } = pulling.start(['encrypt', '--old-key-file', key]);
    await delay(700);
    child.kill('SIGKILL');
    await ended;
    const { code, stderr } = await pulling.run(['encrypt', '--old-key-file', key]);
    expect(`${code} ${stderr}`).toBe('0 ');
    expect(await rows(pulling, 'people')).toBe(people);
    expect(readable(pulling.dataDir)).toEqual([]);
    expect((await pulling.sync()).code).toBe(0);
  });
});

const rows = async (pulling: Pulling, table: string) =>
  Number(await answer(pulling, `SELECT count(*) FROM ${table}`));

/** The only value that a query returns. */
async function answer(pulling: Pulling, query: string): Promise<string> {
  const [row = {}] = await pulling.json<object[]>(['sql', query]);
  return String(Object.values(row)[0]);
}
