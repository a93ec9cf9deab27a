import type { Attempt } from '../api/attempt.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { Delivery } from './judge.js';

const saveSql = sqlFile('push/save_attempts');

/** Every request that carries out changes, as it is made: rows of `ops.change_attempts`, one for each change in it. */
export class AttemptLog {
  readonly #underWay = new Map<string, { readonly delivery: Delivery; made: number }>();
  #rows: Record<string, unknown>[] = [];

  /** Runs `work`, during which the attempts at the delivery's path are its own; says how many were made. */
  async during<T>(delivery: Delivery, work: (made: () => number) => Promise<T>): Promise<T> {
    const entry = { delivery, made: 0 };
    const path = pathOf(delivery);
    this.#underWay.set(path, entry);
    try {
      return await work(() => entry.made);
    } finally {
      this.#underWay.delete(path);
    }
  }

  seen(attempt: Attempt): void {
    if (attempt.method !== 'PATCH') return;
    const entry = this.#underWay.get(attempt.path);
    if (!entry) return;
    entry.made += 1;
    for (const { id } of entry.delivery.changes) {
      this.#rows.push({
        changeId: id,
        at: attempt.startedAt.toISOString(),
        attempt: entry.made,
        idempotencyKey: entry.delivery.key,
        method: attempt.method,
        path: attempt.path,
        status: attempt.status ?? null,
        errorCode: attempt.errorKind ?? null,
        requestId: attempt.requestId ?? null,
        ms: attempt.ms,
      });
    }
  }

  async flush(store: Pick<Warehouse, 'transaction'>, runId: string): Promise<void> {
    if (this.#rows.length === 0) return;
    const rows = this.#rows;
    this.#rows = [];
    await store.transaction(async (tx) => {
      await tx.run(saveSql, { attempts: JSON.stringify(rows), run_id: runId });
    });
  }
}

/** Where a delivery is sent to, as `Attempt.path` has it. */
export function pathOf({ entityType, changes }: Pick<Delivery, 'entityType' | 'changes'>): string {
  return entityType === 'company'
    ? '/companies/bulk'
    : `/topics/${encodeURIComponent(changes[0]?.entityId ?? '')}`;
}
