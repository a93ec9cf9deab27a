import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from '../../src/sandbox/start.js';
import { openWarehouse } from '../../src/warehouse/store/open.js';
import { killedAt, type Moment } from '../support/killed-at.js';
import { read } from '../support/published.js';
import { Pulling, type Synced, startTown } from '../support/pulling.js';
import { Folders, type Ran } from '../support/signalhouse.js';
import type { KillPoint } from './kill-points.js';

/** Small, and with enough batches that there is a second and a third one on every day. */
const sizes = {
  seed: 5,
  topics: 5,
  people: 8,
  companies: 3,
  messages: 60,
  stories: 2,
  templates: 1,
  channels: 2,
};
const batch = { megabytes: 5, documents: 4_000, answers: 5, seconds: 5 };
const concurrency = 2;
const tuning = { batch, concurrency };

/** How many children are fetched at a time: those on the wire, and four more that prepare or wait for a commit. */
const width = concurrency + 4;

/**
 * What a kill may cost beside the lists: the batch that is written and the one that fills meanwhile. Each may hold more
 * than its limit by what was on its way when it was full. What is committed is never fetched again, which is checked
 * child by child.
 */
const atRisk = 2 * (batch.answers + width);

/** The rows of every table, and what was fetched of which child when. */
export interface Contents {
  readonly rows: Readonly<Record<string, number>>;
  readonly fetched: ReadonlyMap<string, number>;
  /** When the first run that is remembered started. */
  readonly firstRun: number;
}

/** What a run costs that nobody disturbs. */
interface Cost {
  readonly requests: number;
  readonly ms: number;
}

/** An organization that stands still, and data directories of it to kill programs in. */
export class Killing {
  #fromNothing: Promise<Cost> | undefined;

  private constructor(
    readonly folders: Folders,
    readonly sandbox: Sandbox,
    /** As it was pulled before the organization changed for the last time. */
    readonly yesterday: Pulling,
    readonly fromYesterday: Cost,
    /** Requests when nothing is due: whoami and the lists. */
    readonly lists: number,
    /** What was fetched after that moment was fetched by a run that was killed, or by the next one. */
    readonly since: number,
  ) {}

  static async in(folders: Folders): Promise<Killing> {
    const sandbox = await startTown({ sizes });
    const yesterday = pullingInto(folders, sandbox);
    await undisturbed(yesterday);
    const since = Date.now();
    sandbox.advance(3, { activeTopics: 0.8, edits: 0.05, archives: 0.2 });
    const today = pullingInto(folders, sandbox);
    cpSync(yesterday.dataDir, today.dataDir, { recursive: true });
    const { cost, seen } = await undisturbed(today);
    const lists = Object.entries(seen).flatMap(([route, count]) => (listed.has(route) ? [count] : []));
    const sum = lists.reduce((total, count) => total + count, 0);
    return new Killing(folders, sandbox, yesterday, cost, sum, since);
  }

  /** A data directory in that folder, as a run of that kind finds it. */
  directory(from: KillPoint['from'], folder: string): Victim {
    const pulling = pullingInto({ make: () => folder }, this.sandbox);
    if (from !== 'nothing') cpSync(this.yesterday.dataDir, pulling.dataDir, { recursive: true });
    if (from === 'garbage') writeFileSync(join(pulling.dataDir, 'worker.duckdb'), 'garbage '.repeat(40_000));
    return new Victim(this, pulling, from);
  }

  async undisturbed(from: KillPoint['from']): Promise<Cost> {
    if (from !== 'nothing') return this.fromYesterday;
    this.#fromNothing ??= undisturbed(pullingInto(this.folders, this.sandbox)).then(({ cost }) => cost);
    return this.#fromNothing;
  }
}

function pullingInto(folders: Pick<Folders, 'make'>, sandbox: Sandbox): Pulling {
  const pulling = Pulling.into(folders, sandbox);
  pulling.tuning = tuning;
  // Nobody waits at this limit, and it is small enough for spending to be kept on disk.
  pulling.env.SIGNALHOUSE_RATE_LIMIT_REQUESTS = '5000';
  return pulling;
}

async function undisturbed(pulling: Pulling): Promise<{ cost: Cost; seen: Synced['seen'] }> {
  const started = performance.now();
  const { code, stderr, requests, seen } = await pulling.sync();
  if (code !== 0) throw new Error(`a pull that nobody disturbed failed: ${stderr}`);
  return { cost: { requests, ms: performance.now() - started }, seen };
}

const listed = new Set([
  'whoami',
  'topics',
  'companies',
  'people',
  'channels',
  'stories',
  'automation_templates',
]);

/** One data directory, in which a program is killed and another one goes on. */
export class Victim {
  readonly #before: number;
  readonly #published: Buffer | null;
  /** What the live file held after the kill; null when there is none to go on from. */
  #live: Contents | null = null;

  constructor(
    readonly killing: Killing,
    readonly pulling: Pulling,
    readonly from: KillPoint['from'],
  ) {
    pulling.isBroken = from === 'garbage';
    this.#before = killing.sandbox.stats().requests;
    this.#published = this.#signals();
  }

  /** Runs a command that is killed at the moment given; when it never comes to that, it ends by itself. */
  killed(command: KillPoint['command'], at: Moment, compacts = false): Promise<Ran> {
    if (compacts) this.pulling.tuning = { ...tuning, compactWhen: { freeShare: 0, freeMegabytes: 0 } };
    const env = killedAt(at);
    return this.pulling.start([command], env).ended;
  }

  /** Runs a command that is killed after so many milliseconds, unless it has ended by then. */
  async killedAfter(ms: number): Promise<Ran> {
    const { child, ended } = this.pulling.start(['sync']);
    const timer = setTimeout(() => child.kill('SIGKILL'), ms);
    const ran = await ended;
    clearTimeout(timer);
    return ran;
  }

  /** What is wrong with the two files just now: none of it may be. */
  async wounds(expected: 'old' | 'new' | 'either'): Promise<string[]> {
    const found: string[] = [];
    this.#live = await this.#inspect(found);
    const signals = this.#signals();
    const isOld = signals === null ? this.#published === null : (this.#published?.equals(signals) ?? false);
    if (isOld) return expected === 'new' ? [...found, 'signals.duckdb is the old one'] : found;
    if (expected === 'old') found.push('signals.duckdb is not the old one');
    const { rows } = await read(this.pulling.dataDir, (reader) => contentsOf(reader.rows));
    for (const [table, count] of Object.entries(this.#live?.rows ?? {})) {
      if (rows[table] !== count) found.push(`${table}: ${rows[table]} rows are published of ${count}`);
    }
    return found;
  }

  /** One quiet sync, and what is wrong with how it went on from the kill and with what there is at its end. */
  async recover(): Promise<string[]> {
    const { code, stdout, stderr, report } = await this.pulling.sync();
    if (code !== 0) return [`exit ${code}: ${stdout}${stderr}`];
    const found = stderr === '' || this.pulling.isBroken ? [] : [stderr];
    const spent = this.killing.sandbox.stats().requests - this.#before;
    const { requests } = await this.killing.undisturbed(this.from);
    const allowed = requests + this.killing.lists + atRisk;
    if (spent > allowed) found.push(`${spent} requests were spent, ${allowed} are allowed`);
    if (report.left.due > 0) found.push(`${report.left.due} are due still`);
    const { fetched, firstRun } = await read(this.pulling.dataDir, (reader) => contentsOf(reader.rows));
    for (const [child, at] of this.#live?.fetched ?? []) {
      if (at > this.killing.since && fetched.get(child) !== at) found.push(`${child} was fetched again`);
    }
    if (this.from !== 'nothing' && firstRun > this.killing.since)
      found.push('what was there yesterday is forgotten');
    for (const name of readdirSync(this.pulling.dataDir))
      if (!kept.test(name)) found.push(`${name} was left behind`);
    return [...found, ...(await this.pulling.differences())];
  }

  #signals(): Buffer | null {
    const path = join(this.pulling.dataDir, 'signals.duckdb');
    return existsSync(path) ? readFileSync(path) : null;
  }

  /** Opens a copy of the live file as the next run would: the file itself is left as the kill left it. */
  async #inspect(found: string[]): Promise<Contents | null> {
    const { dataDir } = this.pulling;
    const here = existsSync(dataDir) ? readdirSync(dataDir) : [];
    const names = here.filter((name) => /^worker\.duckdb(\.wal.*)?$/.test(name));
    if (this.from === 'garbage' || !names.includes('worker.duckdb')) return null;
    const folders = new Folders();
    const copy = folders.make();
    for (const name of names) copyFileSync(join(dataDir, name), join(copy, name));
    const warehouse = await openWarehouse({ dataDir: copy, memoryLimit: '256MB', threads: 1 });
    if (warehouse.restored) found.push(`worker.duckdb did not open: ${warehouse.restored.reason}`);
    for (const { table, repeated, nulls } of await warehouse.checkKeys())
      found.push(`${table}: ${repeated} keys are repeated, ${nulls} are null`);
    const contents = await contentsOf((sql) => warehouse.all(sql));
    await warehouse.close();
    folders.remove();
    return contents;
  }
}

/** What may stand in a data directory between two runs. */
const kept = /^(signals\.duckdb|worker\.duckdb(\.broken-.*)?|spending\.log)$/;

async function contentsOf(ask: <T>(sql: string) => Promise<T[]>): Promise<Contents> {
  const tables = await ask<{ name: string }>(
    `SELECT schema_name || '.' || table_name AS name FROM duckdb_tables() WHERE NOT internal AND NOT temporary`,
  );
  const counts = tables.map(({ name }) => `SELECT '${name}' AS name, count(*) AS rows FROM ${name}`);
  const rows = await ask<{ name: string; rows: number }>(counts.join(' UNION ALL '));
  const coverage = await ask<{ child: string; at: number }>(
    "SELECT endpoint || ' ' || entity_id AS child, epoch_ms(fetched_at) AS at FROM ops.coverage",
  );
  const [first] = await ask<{ at: number | null }>('SELECT epoch_ms(min(started_at)) AS at FROM ops.runs');
  return {
    rows: Object.fromEntries(rows.map(({ name, rows: count }) => [name, count])),
    fetched: new Map(coverage.map(({ child, at }) => [child, at])),
    firstRun: first?.at ?? Number.POSITIVE_INFINITY,
  };
}
