import { sqlFile } from '../sql.js';
import type { Session } from './session.js';

/** For how many days the worker's own records are kept, each kind for itself. */
export interface Retention {
  readonly requestsDays: number;
  readonly runsDays: number;
  readonly attemptsDays: number;
  readonly scansDays: number;
}

const kinds = ['requests', 'runs', 'scans', 'attempts'] as const;
export type Trimmed = Readonly<Record<(typeof kinds)[number], number>>;

const dayMs = 86_400_000;

/**
 * Removes the records of ops that are older than they are kept, in one transaction; says how many of each kind. What is
 * needed to tell how things stand stays, however old: the last run of each command, the last reading of each list, the
 * attempts at open changes.
 */
export async function trim(session: Session, keep: Retention, now: Date): Promise<Trimmed> {
  const removed: Record<string, number> = {};
  await session.transaction(async (tx) => {
    for (const kind of kinds) {
      const sql = sqlFile(`retention/${kind}`);
      const before = new Date(now.getTime() - keep[`${kind}Days`] * dayMs);
      removed[kind] = await tx.run(sql, { before });
    }
  });
  return removed as Trimmed;
}
