import { copyFileSync, cpSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { Pulling, startTown } from '../../support/pulling.js';
import { Folders, type Ran, type Running, start } from '../../support/signalhouse.js';
import type { TestLake } from './lake.js';

/** What `lake publish --json` prints, as far as the tests read it. */
export interface PublishReport {
  readonly changed: boolean;
  readonly publicationId: string | null;
  readonly attempts: number;
  readonly tables: Readonly<Record<string, { inserted: number; updated: number; deleted: number }>>;
}

/** The tables of one organization as they are today, and as they were yesterday. */
export interface Organization {
  readonly id: string;
  /** Data directories with a published file. */
  readonly yesterday: string;
  readonly today: string;
}

const folders = new Folders();
const organizations = new Map<number, Promise<Organization>>();

/** An organization of which two days were pulled; the same one for everybody who names the same seed. */
export function organization(seed: number): Promise<Organization> {
  const made = organizations.get(seed) ?? pulled(seed);
  organizations.set(seed, made);
  return made;
}

export function removeOrganizations(): void {
  organizations.clear();
  folders.remove();
}

async function pulled(seed: number): Promise<Organization> {
  const sandbox = await startTown({ sizes: { seed } });
  try {
    const pulling = Pulling.into(folders, sandbox);
    await synced(pulling);
    const yesterday = join(folders.make(), 'data');
    cpSync(pulling.dataDir, yesterday, { recursive: true });
    sandbox.advance(1);
    await synced(pulling);
    return { id: sandbox.world.organization.id, yesterday, today: pulling.dataDir };
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
  readonly dataDir = join(folders.make(), 'data');
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
  async publish(...args: readonly string[]): Promise<PublishReport> {
    const { code, stdout, stderr } = await this.run(['lake', 'publish', '--json', ...args]);
    if (code !== 0) throw new Error(`lake publish exits ${code}: ${stdout}${stderr}`);
    return JSON.parse(stdout) as PublishReport;
  }
}
