import { spawn } from 'node:child_process';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { read } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
let sandbox: Sandbox;
let pulling: Pulling;
beforeAll(async () => {
  sandbox = await startTown();
  pulling = Pulling.into(folders, sandbox);
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

const file = (name: string) => join(pulling.dataDir, name);

/** Every typed table as text, in an order of its own. */
async function everything(name?: string): Promise<Record<string, string>> {
  return read(
    pulling.dataDir,
    async (reader) => {
      const tables = await reader.rows<{ name: string }>(
        "SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal ORDER BY 1",
      );
      const texts: Record<string, string> = {};
      for (const { name: table } of tables) {
        const rows = await reader.table(table);
        texts[table] = rows
          .map((row) => JSON.stringify(row))
          .sort()
          .join('\n');
      }
      return texts;
    },
    name,
  );
}

describe('rebuild', () => {
  it('gives identical tables, without a request', async () => {
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    sandbox.advance(2, { edits: 0.02, deletions: 0.02, merges: 0.1, archives: 0.1 });
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    const before = await everything();
    expect(Object.keys(before).length).toBeGreaterThanOrEqual(25);
    const spent = sandbox.stats().requests;
    const { code } = await pulling.start(['rebuild']).ended;
    expect(code).toBe(0);
    expect(sandbox.stats().requests).toBe(spent);
    const after = await everything();
    const differ = Object.keys(before).filter((table) => before[table] !== after[table]);
    expect(differ).toEqual([]);
    expect(await everything('worker.duckdb')).toEqual(after);
  });
});

describe('a reader in another process', () => {
  it('keeps the snapshot it has open while a run publishes another, and disturbs nobody', async () => {
    const script = fileURLToPath(new URL('../support/reader.mjs', import.meta.url));
    const reader = spawn(process.execPath, [script, file('signals.duckdb')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let counts = '';
    reader.stdout.setEncoding('utf8').on('data', (text: string) => {
      counts += text;
    });
    const first = new Promise((resolve) => reader.stdout.once('data', resolve));
    const ended = new Promise((resolve) => reader.once('close', resolve));
    await first;
    const old = statSync(file('signals.duckdb')).ino;
    sandbox.advance(1, { activeTopics: 0.3 });
    expect(await pulling.sync()).toMatchObject({ code: 0, stderr: '' });
    expect(statSync(file('signals.duckdb')).ino).not.toBe(old);
    reader.stdin.end();
    expect(await ended).toBe(0);
    const seen = counts.trim().split('\n').map(Number);
    expect(seen.length).toBeGreaterThan(3);
    expect(new Set(seen).size).toBe(1);
    const [now] = await read(pulling.dataDir, (one) =>
      one.rows<{ n: number }>('SELECT count(*) AS n FROM messages'),
    );
    expect(now?.n).toBeGreaterThan(seen[0] as number);
  });
});

describe('a live file that does not open', () => {
  const breakages: [string, () => void][] = [
    ['garbage', () => writeFileSync(file('worker.duckdb'), Buffer.alloc(300_000, 'not a database '))],
    ['an empty header', () => writeFileSync(file('worker.duckdb'), Buffer.alloc(8192))],
    ['all but the header lost', () => truncateSync(file('worker.duckdb'), 12_288)],
    [
      'cut in half',
      () => truncateSync(file('worker.duckdb'), Math.floor(statSync(file('worker.duckdb')).size / 2)),
    ],
  ];
  it.each(breakages)(
    '%s: it is moved aside and restored, and the run goes on and says so',
    async (_, spoil) => {
      pulling.isBroken = true;
      spoil();
      const broken = readFileSync(file('worker.duckdb'));
      const { code, report, stderr, requests } = await pulling.sync();
      expect(code).toBe(0);
      expect(stderr).toContain('restored from the snapshot');
      const said = report.notes.find((note) => note.includes('worker.duckdb could not be opened'));
      const movedTo = said?.match(/is now (\S+);/)?.[1] ?? '';
      expect(readFileSync(movedTo).equals(broken)).toBe(true);
      // The snapshot was published at the end of the last run: the lists are read, and nothing is fetched again.
      expect(requests).toBeLessThan(20);
      expect(await pulling.differences({ lagging: false })).toEqual([]);
    },
  );

  it('a log that does not replay, left behind by a kill: nothing is lost for good', async () => {
    await pulling.age();
    const running = pulling.start(['sync']);
    const target = sandbox.stats().requests + 150;
    while (sandbox.stats().requests < target) await delay(1);
    running.child.kill('SIGKILL');
    await running.ended;
    const log = readFileSync(file('worker.duckdb.wal'));
    log.fill(0x5a, Math.floor(log.length / 2), Math.floor(log.length / 2) + 1_000);
    writeFileSync(file('worker.duckdb.wal'), log);
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    await pulling.age();
    expect(await pulling.sync()).toMatchObject({ code: 0, stderr: '' });
    expect(await pulling.differences()).toEqual([]);
  });
});
