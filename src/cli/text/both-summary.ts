import type { PushAndSync } from '../../app/both.js';
import { type Failure, failureText } from '../failure.js';
import { pushSummary } from './push-summary.js';
import { syncSummary } from './sync-summary.js';

/** What a push and a sync in one did: nothing of a push without a queue, and why one of them is missing. */
export function bothSummary({ push, sync }: PushAndSync, pushFailure: Failure | null): string {
  return [
    pushFailure && `The push failed:\n${failureText(pushFailure, 80)}`,
    push && pushSummary(push),
    sync ? syncSummary(sync) : 'Nothing was pulled: the caps were used up by the push, or a signal ended it.',
  ]
    .filter((one) => one !== null)
    .join('\n\n');
}
