import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.js';
import type { SyncPushReport } from '../../src/commands/sync.js';
import { openWarehouse } from '../../src/load/open.js';
import type { Change } from '../../src/push/change.js';
import type { Values } from '../../src/push/fields.js';
import { type NewChange, Queue, readQueue } from '../../src/push/queue.js';
import type { PushReport } from '../../src/push/run.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { putWarehouse } from './migrated.js';
import type { Pulling } from './pulling.js';
import type { Ran } from './signalhouse.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/sync.js'));

/** The drop folder of a data directory. */
export class DropFolder {
  readonly path: string;

  constructor(readonly pulling: Pulling) {
    this.path = join(pulling.dataDir, 'inbox');
    mkdirSync(this.path, { recursive: true });
  }

  drop(name: string, content: string | Uint8Array): void {
    writeFileSync(join(this.path, name), content);
  }

  /** Runs `sync --push --json` to its end. */
  async night(args: readonly string[] = []): Promise<Pushed<SyncPushReport>> {
    return reportOf(await this.pulling.run(['sync', '--push', '--json', ...args]));
  }
}

/** What happened to each file of the drop folder. */
export const outcomes = ({ inbox }: SyncPushReport) =>
  Object.fromEntries(inbox.map(({ name, outcome }) => [name, outcome]));

/** A line of a sheet that sets another priority than the topic has. */
export const lineOf = ({ id, priority }: StoredTopic) => `${id},${other(priority)}\n`;

/** The parts of a change that matter to a test. */
export interface Wish {
  readonly topic?: string;
  readonly company?: string;
  readonly wanted: Values;
  readonly base: Values;
  readonly row?: number;
}

/** Adds changes to the queue of a data directory without the checks of an import. */
export async function enqueue(dataDir: string, wishes: readonly Wish[]): Promise<Change[]> {
  await putWarehouse(dataDir);
  const warehouse = await openWarehouse({ dataDir, memoryLimit: '256MB', threads: 1 });
  try {
    const queue = await Queue.open(warehouse, { dataDir }, systemClock);
    const added = queue.add(wishes.map(newChange));
    await queue.flush();
    return added;
  } finally {
    await warehouse.close();
  }
}

export function newChange({ topic, company, wanted, base, row }: Wish): NewChange {
  return {
    entityType: topic === undefined ? 'company' : 'topic',
    entityId: topic ?? company ?? '',
    wanted,
    base,
    baseFrom: 'file',
    baseAt: null,
    requestedBy: 'Kim',
    requestedReason: null,
    source: 'wishes.csv',
    sourceHash: null,
    sourceRow: row ?? null,
    importId: 'i1',
  };
}

/** The topics of a sandbox that a push can change. */
export function changeable(sandbox: Sandbox): StoredTopic[] {
  return [...sandbox.world.topics.values()].filter(
    ({ graphStatus, migrated }) => graphStatus === 'active' && !migrated,
  );
}

export const other = (priority: string) => (priority === 'high' ? 'low' : 'high');

/** A change to another priority than the topic has. */
export const raise = ({ id, priority }: StoredTopic) => ({
  topic: id,
  wanted: { priority: other(priority) },
  base: { priority },
});

/** The current queue of a data directory that was never published, from the journal. */
export function queueOf(dataDir: string): Promise<Change[]> {
  return readQueue(null, { dataDir });
}

export interface Pushed<T = PushReport> extends Ran {
  readonly report: T;
}

/** Runs `push --json` to its end. */
export async function push(pulling: Pick<Pulling, 'run'>, args: readonly string[] = []): Promise<Pushed> {
  return reportOf(await pulling.run(['push', '--json', ...args]));
}

/** The JSON that a push printed. */
function reportOf<T = PushReport>(ran: Ran): Pushed<T> {
  try {
    return { ...ran, report: JSON.parse(ran.stdout) as T };
  } catch {
    throw new Error(`it printed no JSON: ${ran.stdout}${ran.stderr}`);
  }
}
