import { afterAll, beforeAll, beforeEach } from 'vitest';
import { systemClock } from '../../../../src/base/clock.js';
import type { Warehouse } from '../../../../src/load/warehouse.js';
import type { Change } from '../../../../src/push/change.js';
import { type ImportOptions, prepareImport } from '../../../../src/push/import/import.js';
import { fromSheet, type ImportSource } from '../../../../src/push/import/source.js';
import { confirmPlan, type Plan, type PlanReport } from '../../../../src/push/plan.js';
import { Queue } from '../../../../src/push/queue.js';
import { emptyDir, open } from '../../../support/open-warehouse.js';

export const syncedAt = '2026-03-01T00:00:00.000Z';

export const settings = { rateLimit: { requests: 120, windowMs: 60_000 } };

/** A warehouse with topics t1 … t9 (default, open, not archived), some that are closed, and companies 1 … 3. */
export async function town(dataDir?: string): Promise<Warehouse> {
  const warehouse = await open(dataDir);
  const at = `TIMESTAMPTZ '${syncedAt}'`;
  await warehouse.run(
    `INSERT INTO topics BY NAME SELECT 't' || i AS id, 'Topic ' || i AS title, 'default' AS priority,
       'open' AS lifecycle_state, 'active' AS graph_status, ${at} AS synced_at FROM range(1, 10) r(i)`,
  );
  await warehouse.run(
    `INSERT INTO topics BY NAME
     SELECT 'filed' AS id, 'low' AS priority, 'unknown' AS lifecycle_state, 'archived' AS graph_status,
       ${at} AS archived_at, 'old' AS archived_reason, ${at} AS synced_at`,
  );
  await warehouse.run(
    `INSERT INTO topics (id, title, deleted_at, deleted_reason, merged_into_id, detail_unavailable_reason, graph_status, successor_topic_id, synced_at)
     VALUES ('gone', 'Gone', ${at}, 'spam', NULL, NULL, NULL, NULL, ${at}),
            ('merged', 'Merged', ${at}, NULL, 't1', NULL, NULL, NULL, ${at}),
            ('migrated', 'Migrated', NULL, NULL, NULL, 'archived_in_v1_to_v2_migration', NULL, NULL, ${at}),
            ('superseded', 'Superseded', NULL, NULL, NULL, NULL, 'superseded', 't2', ${at}),
            ('listed', 'Listed only', NULL, NULL, NULL, NULL, NULL, NULL, ${at})`,
  );
  await warehouse.run(
    `INSERT INTO topics BY NAME
     SELECT unnest(['folded', 'unread']) AS id, unnest(['Folded', 'Unread']) AS title, 'low' AS priority,
       'completed' AS lifecycle_state, ${at} AS deleted_at, 't2' AS merged_into_id, ${at} AS synced_at`,
  );
  await warehouse.run(
    `INSERT INTO raw.documents (endpoint, id, body, body_hash, fetched_at, run_id)
     SELECT 'topic', id, '{"archivedAt": null}', '', ${at}, 'r1' FROM topics WHERE id NOT IN ('listed', 'unread')`,
  );
  await warehouse.run(
    `INSERT INTO companies (id, name, primary_domain, is_vip, connections_phone, synced_at)
     VALUES ('1', 'Acme', 'acme.example', false, '+49 1', ${at}), ('2', 'Beta', NULL, true, NULL, ${at}),
            ('3', NULL, NULL, false, NULL, ${at})`,
  );
  return warehouse;
}

/** A file by its text. */
export function csv(text: string): Promise<ImportSource> {
  return fromSheet({ bytes: Buffer.from(text), name: 'list.csv' });
}

/** Imports text or a source into the queue of a warehouse. */
export class Importing {
  warehouse!: Warehouse;
  queue!: Queue;

  /** An empty queue, of which nothing reaches the table. */
  async clear(): Promise<void> {
    this.queue = await Queue.open(this.warehouse, { dataDir: emptyDir() }, systemClock);
  }

  async prepare(
    given: string | ImportSource,
    skipInvalid = false,
    more: Partial<ImportOptions> = {},
  ): Promise<Plan> {
    const source = typeof given === 'string' ? await csv(given) : given;
    const parts = { store: this.warehouse, queue: this.queue, settings };
    return prepareImport(parts, source, { requestedBy: 'kim', skipInvalid, ...more });
  }

  async run(given: string | ImportSource, skipInvalid = false): Promise<PlanReport> {
    return confirmPlan(this.queue, await this.prepare(given, skipInvalid));
  }

  /** What a person imports: `by` of null is nobody who is named. */
  async runBy(by: string | null, given: string | ImportSource): Promise<PlanReport> {
    return confirmPlan(this.queue, await this.prepare(given, false, { requestedBy: by }));
  }

  /** The outcome of each row, in the order of the file. */
  async outcomes(given: string | ImportSource, skipInvalid = false): Promise<string[]> {
    return (await this.run(given, skipInvalid)).rows.map(({ outcome }) => outcome);
  }

  /** The queue, as `id {wanted} status`. */
  get queued(): string[] {
    return this.queue
      .all()
      .map(({ entityId, wanted, status }) => `${entityId} ${JSON.stringify(wanted)} ${status}`);
  }

  /** Moves the one change of an entity as a push would. */
  settle(entityId: string, status: 'applied' | 'conflict' | 'failed', patch: Partial<Change> = {}): Change {
    const [change] = this.queue.withStatus('queued').filter((one) => one.entityId === entityId);
    if (!change) throw new Error(`nothing waits for ${entityId}`);
    const [sending] = status === 'applied' ? this.queue.move([change], 'sending') : [change];
    const [settled] = this.queue.move([sending as Change], status, patch);
    return settled as Change;
  }
}

/** A town for all tests of a file, and what `fill` adds to it; each test begins with an empty queue. */
export function importingOfFile(fill?: (warehouse: Warehouse) => Promise<unknown>): Importing {
  const importing = new Importing();
  beforeAll(async () => {
    importing.warehouse = await town();
    await fill?.(importing.warehouse);
  });
  beforeEach(() => importing.clear());
  afterAll(() => importing.warehouse.close());
  return importing;
}
