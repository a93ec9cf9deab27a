import { deleteMessage, editMessage, react, removeMessage } from '../changes/conversations.js';
import type { Random } from '../random.js';
import { reactionKinds } from '../sources.js';
import { type Day, some } from './plan.js';

/** What people do to messages that are there: edits, deletions (one in five for good) and reactions. */
export function planRetouches(day: Day): void {
  const { world, shape, counts } = day;
  const total = world.messages.size;
  if (total === 0 || (shape.edits === 0 && shape.deletions === 0 && shape.reactions === 0)) return;
  const ids = [...world.messages.keys()];
  // Rather the newer half: old messages rest.
  const choose = (random: Random) => random.pick(random.chance(0.8) ? ids.slice(ids.length >> 1) : ids);
  const each = (purpose: string, share: number, happen: (random: Random, id: string) => void) => {
    const random = day.random(purpose);
    for (let left = some(random, share, total); left > 0; left--) {
      const id = choose(random);
      day.plan(day.moment(random), () => {
        if (world.messages.has(id)) happen(random, id);
      });
    }
  };
  each('edits', shape.edits, (random, id) => {
    const before = world.messages.get(id)?.content ?? '';
    editMessage(
      world,
      id,
      `${before}\n\nEdit: ${random.pick(['typo', 'solved now', 'added the version', 'see below'])}`,
    );
    counts.edits += 1;
  });
  each('deletions', shape.deletions, (random, id) => {
    if (random.chance(0.2)) removeMessage(world, id);
    else if (world.messages.get(id)?.deletedAt === null) deleteMessage(world, id);
    else return;
    counts.deletions += 1;
  });
  each('reactions', shape.reactions, (random, id) => {
    react(world, id, random.pick(reactionKinds));
    counts.reactions += 1;
  });
}
