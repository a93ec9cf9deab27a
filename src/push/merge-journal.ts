import { join } from 'node:path';
import { z } from 'zod';
import { Journal } from '../base/journal.js';

const textOrNull = z.string().nullable();

/** A merge of two people that was confirmed, as the journal keeps it. */
const mergeSchema = z.object({
  /** Sorts by time; the same in `ops.audit`. */
  id: z.string(),
  sourceId: z.string(),
  targetId: z.string(),
  idempotencyKey: z.string(),
  /** `sending` from before the request until its outcome is known, over any number of commands. */
  status: z.enum(['sending', 'merged', 'failed']),
  requestedBy: textOrNull,
  requestedReason: textOrNull,
  /** By the API's clock, as its answers say. */
  firstSentAt: z.string(),
  settledAt: textOrNull,
  error: textOrNull,
});
export type PeopleMerge = Readonly<z.infer<typeof mergeSchema>>;

export function mergeJournalPath(dataDir: string): string {
  return join(dataDir, 'merges.journal');
}

/**
 * Every merge of people that this data directory sent: a line for each state, of which the last is valid. It is kept for good,
 * so that neither a kill nor a restore from an older file loses a key, or the record of what cannot be undone. Only the process
 * that holds the warehouse writes it.
 */
export class MergeJournal extends Journal {
  constructor({ dataDir }: { readonly dataDir: string }) {
    super(mergeJournalPath(dataDir));
  }

  /** All merges, oldest first. */
  all(): PeopleMerge[] {
    const merges = new Map<string, PeopleMerge>();
    for (const value of this.values<unknown>()) {
      const { data } = mergeSchema.safeParse(value);
      if (data) merges.set(data.id, data);
    }
    return [...merges.values()];
  }

  /** Returns when the merge is on disk. */
  save(merge: PeopleMerge): PeopleMerge {
    this.append([merge]);
    return merge;
  }
}
