import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeEach, expect, inject } from 'vitest';
import { stringify } from 'yaml';
import type { Tuning } from '../../src/config/load.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/start.js';
import type { WorldSizes } from '../../src/sandbox/world/types.js';
import type { PlanReport, SyncReport } from '../../src/sync/report.js';
import type { Row } from './expected/row.js';
import { type Comparison, differences } from './oracle.js';
import { read } from './published.js';
import { type Ran, type Running, signalhouse, start } from './signalhouse.js';
import { testFolder } from './test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/sync.js'));

/** An organization that has several of everything, merged and gone ones included. */
export const town: Partial<WorldSizes> = {
  seed: 5,
  topics: 30,
  people: 40,
  companies: 7,
  messages: 400,
  channels: 4,
  stories: 6,
  templates: 3,
};

/** One that is pulled in a second, and has some of everything. */
const smallTown: Partial<WorldSizes> = {
  seed: 5,
  topics: 20,
  people: 26,
  companies: 6,
  messages: 260,
  channels: 4,
  stories: 5,
  templates: 3,
};

/** A sandbox in this process, without a limit unless a test sets one. */
export async function startTown(options: SandboxOptions = {}): Promise<Sandbox> {
  const { sizes, ...rest } = options;
  const sandbox = await startSandbox({
    sizes: { ...smallTown, ...sizes },
    rate: { requests: 1_000_000, windowMs: 1_000 },
    ...rest,
  });
  towns.set(sandbox, options);
  return sandbox;
}

/**
 * A town for all tests of a file, which goes with them, and a data directory that holds everything of it, or nothing. What a
 * test made wrong in the town's answers is right in the next. For the top of a file: `const { sandbox } = await townOfFile()`.
 */
export async function townOfFile({
  holds = 'everything',
  ...options
}: SandboxOptions & { holds?: 'everything' | 'nothing' } = {}): Promise<{
  readonly sandbox: Sandbox;
  readonly pulling: Pulling;
}> {
  const sandbox = await startTown(options);
  afterAll(() => sandbox.stop());
  beforeEach(() => {
    sandbox.clearFaults();
    sandbox.resetStats();
  });
  const pulling = holds === 'everything' ? await Pulling.filled(sandbox) : Pulling.into(sandbox);
  return { sandbox, pulling };
}

const towns = new WeakMap<Sandbox, SandboxOptions>();

/** The data directory of a complete first pull of a town, made by the worker that needs it first. */
async function firstPull(options: SandboxOptions): Promise<string> {
  const name = createHash('sha256').update(JSON.stringify(options)).digest('hex').slice(0, 16);
  const folder = join(inject('runFolder'), `pulled-${name}`);
  const [dataDir, end] = [join(folder, 'data'), join(folder, 'end')];
  if (mkdirSync(folder, { recursive: true }) === undefined) {
    while (!existsSync(end)) await delay(100);
    if (readFileSync(end, 'utf8') !== '') throw new Error(readFileSync(end, 'utf8'));
    return dataDir;
  }
  const sandbox = await startTown(options);
  try {
    const { code, stderr } = await new Pulling(sandbox, dataDir).sync();
    if (code !== 0) throw new Error(`the first pull exits ${code}: ${stderr}`);
    writeFileSync(end, '');
    return dataDir;
  } catch (error) {
    writeFileSync(end, String(error));
    throw error;
  } finally {
    await sandbox.stop();
  }
}

/** What the API deleted long ago keeps its content, so that every row can be compared with the API. */
const comparable = { retention: { deletedContentDays: 'never' } };

export interface Synced extends Ran {
  /** What `--json` printed; undefined when the run ended before there was a report. */
  readonly report: SyncReport;
  /** Requests that the sandbox saw in this run, by route. */
  readonly seen: Readonly<Record<string, number>>;
  readonly requests: number;
}

/** What a Pulling needs of the API that it pulls from. */
export type Pulled = Pick<Sandbox, 'baseUrl' | 'apiKey'> & {
  stats(): { readonly routes: Readonly<Record<string, Readonly<Record<string, number>>>> };
};

/** A data directory and the API that it is pulled from: a sandbox, unless a test says otherwise. */
export class Pulling<Api extends Pulled = Sandbox> {
  /** Whether a test broke the live file; otherwise nobody may take it for broken. */
  isBroken = false;
  /** Other values for what the program chooses itself. */
  tuning: Tuning | undefined;
  /** Where its commands run. */
  cwd: string | undefined;
  readonly env: Record<string, string>;

  constructor(
    readonly sandbox: Api,
    readonly dataDir: string,
    settings: object = {},
  ) {
    this.env = {
      SIGNALHOUSE_BASE_URL: sandbox.baseUrl,
      SIGNALHOUSE_API_KEY: sandbox.apiKey,
      SIGNALHOUSE_DATA_DIR: dataDir,
      SIGNALHOUSE_CONFIG: join(`${dataDir}.yaml`),
      SIGNALHOUSE_RATE_LIMIT_REQUESTS: '1000000',
      SIGNALHOUSE_RATE_LIMIT_WINDOW_MS: '1000',
      SIGNALHOUSE_LOG_LEVEL: 'warn',
    };
    this.set(settings);
  }

  /** A new data directory for the sandbox. */
  static into<Api extends Pulled>(sandbox: Api, settings: object = {}): Pulling<Api> {
    return new Pulling(sandbox, join(testFolder(), 'data'), settings);
  }

  /**
   * A data directory that holds everything of the sandbox, which did not change since it started. The same options give
   * the same organization, so only the first test of a run pulls it.
   */
  static async filled(sandbox: Sandbox, settings: object = {}): Promise<Pulling> {
    const template = await firstPull(towns.get(sandbox) ?? {});
    const pulling = Pulling.into(sandbox, settings);
    cpSync(template, pulling.dataDir, { recursive: true });
    return pulling;
  }

  /** Writes the file of settings. */
  set(settings: object): void {
    writeFileSync(`${this.dataDir}.yaml`, stringify(merged(comparable, settings)));
  }

  /** Makes everything that was fetched older by a year, so that every child is due and what nothing betrays is seen. */
  age(): Promise<void> {
    const tables = ['raw.documents', 'ops.coverage'];
    return this.edit(
      ...tables.map((table) => `UPDATE ${table} SET fetched_at = fetched_at - INTERVAL 365 DAY`),
    );
  }

  /** Runs statements on the live file, while no command runs. */
  async edit(...statements: string[]): Promise<void> {
    await runOn(join(this.dataDir, 'worker.duckdb'), ...statements);
  }

  /** Starts a command as a process of its own. */
  start(args: readonly string[], env: Record<string, string> = {}): Running {
    return start(args, { env: { ...this.env, ...env }, tuning: this.tuning, cwd: this.cwd });
  }

  /** Runs a command to its end. */
  run(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
    return signalhouse(args, { env: { ...this.env, ...env }, tuning: this.tuning, cwd: this.cwd });
  }

  /** What a command prints with `--json`, without a word on stderr. */
  async json<T>(args: readonly string[], code = 0): Promise<T> {
    const ran = await this.run([...args, '--json']);
    expect({ args, code: ran.code, stderr: ran.stderr }).toEqual({ args, code, stderr: '' });
    return JSON.parse(ran.stdout) as T;
  }

  /** The rows of a query in the published file, or in another one of the data directory. */
  rows<T = Row>(sql: string, file?: string): Promise<T[]> {
    return read(this.dataDir, ({ rows }) => rows<T>(sql), file);
  }

  /** What the published file says otherwise than the API. */
  differences(this: Pulling, comparing?: Comparison): Promise<string[]> {
    return differences(this.sandbox, this.dataDir, comparing);
  }

  /** `sync --json` to its end, with what the sandbox saw of it. */
  async sync(args: readonly string[] = [], env: Record<string, string> = {}): Promise<Synced> {
    const before = this.seen();
    const ran = await this.run(['sync', '--json', ...args], env);
    const seen = Object.fromEntries(
      Object.entries(this.seen()).flatMap(([route, count]) => {
        const more = count - (before[route] ?? 0);
        return more === 0 ? [] : [[route, more]];
      }),
    );
    const requests = Object.values(seen).reduce((sum, count) => sum + count, 0);
    if (ran.stderr.includes('could not be opened') && !this.isBroken) throw new Error(ran.stderr);
    return { ...ran, report: parsed<SyncReport>(ran), seen, requests };
  }

  async plan(args: readonly string[] = []): Promise<PlanReport> {
    const ran = await this.run(['plan', '--json', ...args]);
    return parsed<PlanReport>(ran);
  }

  /** Requests by route so far, whatever became of them. */
  seen(): Record<string, number> {
    return Object.fromEntries(
      Object.entries(this.sandbox.stats().routes).map(([route, outcomes]) => [
        route,
        Object.values(outcomes).reduce((sum, count) => sum + count, 0),
      ]),
    );
  }
}

function parsed<T>({ stdout, stderr }: Ran): T {
  try {
    return JSON.parse(stdout) as T;
  } catch {
    throw new Error(`it printed no JSON: ${stdout}${stderr}`);
  }
}

function merged(base: unknown, over: unknown): unknown {
  if (!isSection(base) || !isSection(over)) return over ?? base;
  const names = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...names].map((name) => [name, merged(base[name], over[name])]));
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Runs statements on a file that nothing else has open, and returns the rows of each. */
export async function runOn(path: string, ...statements: string[]): Promise<unknown[]> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  const results: unknown[] = [];
  for (const statement of statements) results.push((await connection.runAndReadAll(statement)).getRowsJson());
  connection.closeSync();
  instance.closeSync();
  return results;
}
