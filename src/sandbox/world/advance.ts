import { planMessageEdits, planMessages, planNewTopics, planStory } from './day/conversations.js';
import { Day, type DayCounts, zeroCounts } from './day/day.js';
import { planArchives, planAssessments, planMerges } from './day/triage.js';
import type { DayShape, World } from './types.js';

export type { DayCounts } from './day/day.js';

/** A day without changes: only the present moves. */
export const quietDay: DayShape = {
  activeTopics: 0,
  newTopics: 0,
  edits: 0,
  deletions: 0,
  reactions: 0,
  merges: 0,
  archives: 0,
  priorityChanges: 0,
};

/** An ordinary day. Edits, deletions and reactions are shares of all messages, the others of all topics. */
export const defaultDay: DayShape = {
  activeTopics: 0.06,
  newTopics: 0.006,
  edits: 0.0006,
  deletions: 0.0003,
  reactions: 0.001,
  merges: 0.003,
  archives: 0.006,
  priorityChanges: 0.015,
};

/**
 * Lets whole days pass and returns what happened. A day depends only on the seed, the number of the day and the world as
 * it is. Absent shares are those of `defaultDay`.
 *
 * - `activeTopics` changes exactly that share of all topics, rounded up, as long as so many are live; if all other shares
 *   are 0, no other topic changes.
 * - The other shares are exact when they give a whole number, otherwise rounded up or down at random.
 * - `merges` applies to topics, people and companies alike, `priorityChanges` to priorities and lifecycle states.
 * - With `newTopics` come new people and a story.
 */
export function advance(world: World, days: number, shape: Partial<DayShape> = {}): DayCounts {
  if (!Number.isInteger(days) || days < 0)
    throw new RangeError(`days must be a whole number from 0, not ${days}`);
  const full = { ...defaultDay, ...shape };
  for (const [name, share] of Object.entries(full)) {
    if (!(share >= 0 && share <= 1))
      throw new RangeError(`${name} must be a share from 0 to 1, not ${share}`);
  }
  const counts = zeroCounts();
  for (let i = 0; i < days; i++) {
    const day = new Day(world, full, counts);
    planMessages(day);
    planNewTopics(day);
    planMessageEdits(day);
    planMerges(day);
    planArchives(day);
    planAssessments(day);
    planStory(day);
    day.run();
  }
  return counts;
}
