import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inject } from 'vitest';
import { stringify } from 'yaml';
import { Pulling, startTown } from '../../support/pulling.js';
import { type Ran, type Running, start } from '../../support/signalhouse.js';
import { testFolder } from '../../support/test-folders.js';
import type { TestLake } from './lake.js';

/** What `lake publish --json` prints, as far as the tests read it. */
export interface PublishReport {
  readonly changed: boolean;
  readonly publicationId: string | null;
  readonly tables: Readonly<Record<string, { inserted: number; updated: number; deleted: number }>>;
  readonly views: readonly string[];
  readonly leftOut: readonly string[];
}

/** The tables of one organization as they are today, and as they were yesterday. */
export interface Organization {
  readonly id: string;
  /** Data directories with a published file. */
  readonly yesterday: string;
  readonly today: string;
}

const organizations = new Map<number, Promise<Organization>>();

/** An organization of which two days were pulled; the same one for every test of the run that names the same seed. */
export function organization(seed: number): Promise<Organization> {
  const made = organizations.get(seed) ?? pulledOnce(seed);
  organizations.set(seed, made);
  return made;
}

/** Pulled by the first file that needs it; the others, in this process or in another, wait for that. */
async function pulledOnce(seed: number): Promise<Organization> {
  const folder = join(inject('runFolder'), `organization-${seed}`);
  const made = join(folder, 'made.json');
  while (!existsSync(made)) {
    try {
      mkdirSync(folder);
    } catch {
      await delay(50);
      continue;
    }
    try {
      writeFileSync(`${made}.part`, JSON.stringify(await pulled(seed, folder)));
      renameSync(`${made}.part`, made);
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
  }
  return JSON.parse(readFileSync(made, 'utf8')) as Organization;
}

async function pulled(seed: number, folder: string): Promise<Organization> {
  const sandbox = await startTown({ sizes: { seed } });
  try {
    const today = join(folder, 'today');
    const pulling = new Pulling(sandbox, today);
    await synced(pulling);
    const yesterday = join(folder, 'yesterday');
    cpSync(today, yesterday, { recursive: true });
    sandbox.advance(1);
    await synced(pulling);
    return { id: sandbox.world.organization.id, yesterday, today };
  } finally {
    await sandbox.stop();
  }
}

async function synced(pulling: Pulling): Promise<void> {
  const { code, stderr } = await pulling.sync();
  if (code !== 0) throw new Error(`sync exits ${code}: ${stderr}`);
}

/** A data directory that publishes to a lake. Tests replace its published file instead of pulling a day each time. */
export class Worker {
  readonly dataDir = join(testFolder(), 'data');
  readonly #env: Readonly<Record<string, string>>;

  constructor(
    readonly organization: Organization,
    lake: TestLake,
    settings: object = lake.settings(),
  ) {
    cpSync(organization.yesterday, this.dataDir, { recursive: true });
    this.#env = {
      ...lake.env,
      SIGNALHOUSE_DATA_DIR: this.dataDir,
      SIGNALHOUSE_CONFIG: `${this.dataDir}.yaml`,
      SIGNALHOUSE_LOG_LEVEL: 'warn',
    };
    this.set(settings);
  }

  set(settings: object): void {
    writeFileSync(`${this.dataDir}.yaml`, stringify(settings));
  }

  /** Puts the published file of one of the two days into the data directory, as a publication does. */
  show(day: 'yesterday' | 'today'): void {
    const fresh = join(this.dataDir, '.fresh');
    copyFileSync(join(this.organization[day], 'signals.duckdb'), fresh);
    renameSync(fresh, join(this.dataDir, 'signals.duckdb'));
  }

  start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
    return start(args, { env: { ...this.#env, ...env } });
  }

  run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    return this.start(args, env).ended;
  }

  /** `lake publish --json`, which has to succeed. */
  publish(): Promise<PublishReport> {
    return this.json('publish');
  }

  /** What a command of the lake prints with --json; it has to succeed. */
  async json<T>(...args: readonly string[]): Promise<T> {
    const { code, stdout, stderr } = await this.run(['lake', ...args, '--json']);
    if (code !== 0) throw new Error(`lake ${args.join(' ')} exits ${code}: ${stdout}${stderr}`);
    return JSON.parse(stdout) as T;
  }
}
