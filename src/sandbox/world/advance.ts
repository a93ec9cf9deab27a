import { planMessageEdits, planMessages, planNewTopics, planStory } from './day/conversations.js';
import { Day, type DayCounts, zeroCounts } from './day/day.js';
import { planArchives, planAssessments, planMerges } from './day/triage.js';
import { type DayShape, dayShape, type World } from './types.js';

export type { DayCounts } from './day/day.js';

/**
 * Lets whole days pass and returns what happened. A day depends only on the seed, the number of the day and the world as
 * it is. Absent shares are those of an ordinary day.
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
  const full = dayShape.parse(shape);
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
