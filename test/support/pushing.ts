import { systemClock } from '../../src/base/clock.js';
import type { Change } from '../../src/push/change.js';
import type { Values } from '../../src/push/fields.js';
import { type NewChange, Queue, readQueue } from '../../src/push/queue/queue.js';
import type { PushPreview, PushReport } from '../../src/push/report.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { openWarehouse } from '../../src/warehouse/store/open.js';
import { putWarehouse } from './migrated.js';
import type { Pulling } from './pulling.js';
import type { Ran } from './signalhouse.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/push.js'));

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
    const queue = await Queue.open(warehouse, dataDir, systemClock);
    const added = queue.add(wishes.map(newChange));
    await queue.flush();
    queue.close();
    return added;
  } finally {
    await warehouse.close();
  }
}

export function newChange({ topic, company, wanted, base, row }: Wish): NewChange {
  return {
    entityType: topic === undefined ? 'company' : 'topic',
    entityId: topic ?? company ?? '',
    ...{ wanted, base, baseFrom: 'file', baseAt: null, requestedBy: 'Kim' },
    ...{ source: 'wishes.csv', sourceHash: null, sourceRow: row ?? null, importId: 'i1' },
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
  return readQueue(null, dataDir);
}

export interface Pushed<T = PushReport> extends Ran {
  readonly report: T;
}

/** Runs `push --json` to its end. */
export async function push(pulling: Pulling, args: readonly string[] = []): Promise<Pushed> {
  return reportOf(await pulling.run(['push', '--json', ...args]));
}

export async function dryRun(pulling: Pulling, args: readonly string[] = []): Promise<Pushed<PushPreview>> {
  return reportOf(await pulling.run(['push', '--dry-run', '--json', ...args]));
}

/** The JSON that a push printed. */
export function reportOf<T = PushReport>(ran: Ran): Pushed<T> {
  try {
    return { ...ran, report: JSON.parse(ran.stdout) as T };
  } catch {
    throw new Error(`it printed no JSON: ${ran.stdout}${ran.stderr}`);
  }
}

const match = { route: 'update_topic' };

/** Everything that can go wrong with a request that changes a topic; in some cases it is applied all the same. */
export const writeFaults = [
  { kind: 'commit-then-drop', match, probability: 0.05 },
  { kind: 'status', status: 500, match, probability: 0.05 },
  { kind: 'status', status: 500, match, probability: 0.03, commit: true },
  { kind: 'status', status: 429, headers: { 'retry-after': '0' }, match, probability: 0.02 },
  { kind: 'reset', match, probability: 0.04 },
  { kind: 'truncate', bytes: 20, match, probability: 0.02 },
] as const;
