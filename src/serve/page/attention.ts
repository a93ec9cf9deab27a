import { counted } from '../../base/units.js';
import { type Facts, freshnessState } from '../facts.js';
import type { ScheduleView } from '../schedule/view.js';

/** What somebody should look at, one sentence each; empty when all is well. */
export function attention(
  facts: Facts | null,
  schedule: ScheduleView,
  problem: string | null,
  now: number,
): string[] {
  return [
    ...(problem === null ? [] : [`The facts of the warehouse cannot be read: ${problem}`]),
    ...jobs(schedule),
    ...(facts === null ? [] : [...freshness(facts, now), ...changes(facts)]),
  ];
}

function jobs({ jobs: all, history }: ScheduleView): string[] {
  return all.flatMap(({ name }) => {
    const last = history.find(
      ({ job, outcome }) => job === name && outcome !== 'skipped' && outcome !== 'interrupted',
    );
    if (last?.outcome === 'failed') return [`${name} failed: ${last.message}`];
    return last?.outcome === 'incomplete' ? [`${name} is incomplete: ${last.message}`] : [];
  });
}

function freshness(facts: Facts, now: number): string[] {
  return facts.freshness.flatMap((one) => {
    const state = freshnessState(one, now);
    if (state === 'stale') return [`${one.resource}: older than its objective`];
    return state === 'never' ? [`${one.resource}: not complete yet`] : [];
  });
}

function changes({ queue }: Facts): string[] {
  return (['conflict', 'failed'] as const).flatMap((status) => {
    const number = queue[status] ?? 0;
    return number > 0 ? [`${counted(number, 'change')} to push: ${status}`] : [];
  });
}
