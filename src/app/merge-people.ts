import { MergeJournal } from '../push/merge-journal.js';
import {
  areNamedAlike,
  isConfirmation,
  type MergeReport,
  type MergeRequest,
  mergePeople as merge,
  type Pair,
  readPair,
} from '../push/merge-people.js';
import { recordMerges } from './audit.js';
import type { Access } from './setup.js';
import { withFullSnapshot } from './snapshot.js';
import { type ObservedOptions, withWorker } from './worker.js';

/** Asks for the second confirmation; `isAgain` says that it was sent before without an answer. Returns what was typed. */
export type ConfirmMerge = (
  pair: Pair,
  asked: { readonly isAgain: boolean; readonly isNameEnough: boolean },
) => Promise<string>;

/**
 * `signalhouse changes merge-people`: reads the pair from the published file, shows it with `show`, and merges it after
 * `confirm`. Without `confirm` it was confirmed on the command line. The record of it is in ops.audit when this returns.
 */
export async function mergePeople(
  access: Access,
  [source, target]: readonly [source: string, target: string],
  options: MergeRequest & ObservedOptions,
  show: (pair: Pair) => void,
  confirm?: ConfirmMerge,
): Promise<MergeReport> {
  const pair = await withFullSnapshot(access, (snapshot) => readPair(snapshot, source, target));
  show(pair);
  return withWorker(access, options, async ({ api, clock, warehouse, config }) => {
    const journal = new MergeJournal(config);
    const stop = options.stop ?? new AbortController().signal;
    const settledBefore = settledIn(journal);
    try {
      const isNameEnough = !areNamedAlike(pair.source, pair.target);
      const ask =
        confirm &&
        (async (isAgain: boolean) => isConfirmation(await confirm(pair, { isAgain, isNameEnough }), pair));
      return await merge({ api, clock, stop, journal }, pair, options, ask);
    } finally {
      if (settledIn(journal) !== settledBefore) {
        await recordMerges(warehouse, config);
        await warehouse.publish();
      }
    }
  });
}

function settledIn(journal: MergeJournal): number {
  return journal.all().filter(({ status }) => status !== 'sending').length;
}
