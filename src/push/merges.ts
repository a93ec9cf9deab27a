import { UsageError } from '../base/errors.js';
import type { Snapshot } from '../read/query.js';
import { sqlFile } from '../store/sql.js';
import { mergedInto } from './fields.js';
import type { NewChange } from './queue.js';

/**
 * Merges of people, `POST /people/merge`: a change of the person who goes, in the same queue and sent in the same way. It has no
 * base and no undo, so both people are shown before it is confirmed.
 */

const peopleSql = sqlFile('push/people_to_merge');
const reasonsSql = sqlFile('push/duplicate_people');

/** A person as a sync saw them last. */
export interface KnownPerson {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly companyId: string | null;
  readonly company: string | null;
  /** How many accounts the person has, and which. */
  readonly accounts: number | null;
  readonly accountNames: readonly string[];
  readonly messages: number | null;
  readonly conversations: number | null;
  readonly lastSeenAt: string | null;
  readonly syncedAt: string | null;
  readonly role: 'customer' | 'staff' | 'bot';
}

export interface Pair {
  /** Who is merged away, and who stays. */
  readonly source: KnownPerson;
  readonly target: KnownPerson;
  /** As in `probable_duplicates`; null where nothing says that they are the same. */
  readonly score: number | null;
  readonly reasons: readonly string[];
}

export interface MergeRequest {
  readonly requestedBy: string | null;
  readonly requestedReason: string | null;
  readonly dryRun: boolean;
}

export interface MergeReport extends Pair {
  readonly outcome: 'merged' | 'already_merged' | 'declined' | 'dry_run' | 'failed' | 'waiting';
  /** The change; null when nothing was queued. */
  readonly id: string | null;
  readonly error: string | null;
  readonly exitCode: 0 | 3;
}

/** The two people in a published file. Throws UsageError when they are one, or one is not in it. */
export async function readPair(snapshot: Snapshot, source: string, target: string): Promise<Pair> {
  if (source === target) {
    const problem = `is the same person: ${target}`;
    throw new UsageError('Two people are needed.', [{ setting: '--into', problem }]);
  }
  const ids = { source, target };
  const rows = await snapshot.all<KnownPerson & { readonly is_known: boolean }>(peopleSql, ids);
  const problems = rows
    .filter((row) => !row.is_known)
    .map(({ id }) => ({ setting: id === source ? 'source' : '--into', problem: `there is no person ${id}` }));
  const [role, otherRole] = rows.map((row) => row.role);
  if (problems.length === 0 && role !== otherRole)
    problems.push({
      setting: '--into',
      problem: `is ${otherRole}, and ${source} is ${role}: their messages would count as those of one`,
    });
  if (problems.length > 0)
    throw new UsageError('These people cannot be merged.', problems, {
      hint: 'The ids are in people.id, and for people who are probably the same in probable_duplicates. Run signalhouse sync for people who are new.',
    });
  const [one, other] = rows.map(({ is_known: _, ...person }) => person) as [KnownPerson, KnownPerson];
  const [why] = await snapshot.all<{ score: number; reasons: string[] }>(reasonsSql, ids);
  return { source: one, target: other, score: why?.score ?? null, reasons: why?.reasons ?? [] };
}

/** The change that merges two people. */
export function newMerge({ source, target }: Pair, request: MergeRequest, importId: string): NewChange {
  return {
    entityType: 'person',
    entityId: source.id,
    wanted: { [mergedInto]: target.id },
    base: {},
    baseFrom: 'warehouse',
    baseAt: null,
    requestedBy: request.requestedBy,
    requestedReason: request.requestedReason,
    source: 'merge-people',
    sourceHash: null,
    sourceRow: null,
    importId,
  };
}
