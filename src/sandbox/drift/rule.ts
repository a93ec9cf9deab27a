import { z } from 'zod';

/** The lists that can drift: every paged one whose order somebody else's work changes. */
export const driftLists = ['topics', 'companies', 'people', 'groups'] as const;
export type DriftList = (typeof driftLists)[number];

/** What a turn can do to a list. */
export const driftMoves = ['insert', 'remove', 'hide', 'move'] as const;
export type DriftMove = (typeof driftMoves)[number];

/** How often in each turn; a fraction is the chance of one more (1.5: once, and every other turn twice). */
const often = z.number().min(0).max(1000);

/**
 * How lists change while they are read, as data. A turn comes right before a page that is not a list's first is
 * answered, so that the rest of the list is no longer what its first page was the beginning of.
 */
export const driftRule = z.strictObject({
  lists: z
    .array(z.enum(driftLists))
    .min(1)
    .default([...driftLists]),
  /** A turn comes before every n-th such page of a list. */
  everyRequests: z.number().int().min(1).default(1),
  /** Something new: a topic or conversation at the front, a company or person at the end. */
  insert: often.default(0.5),
  /** Deleted for good: not listed, 404 by id. */
  remove: often.default(0.5),
  /** Not listed for `hiddenFor` turns, but answered by id all the while. */
  hide: often.default(0.5),
  /** To the front of the list, as what was just touched. */
  move: often.default(0.5),
  hiddenFor: z.number().int().min(1).default(6),
  /** The same seed and the same requests give the same turns. */
  seed: z.number().int().default(1),
  /** So many turns of each list, then never again; absent: until it is stopped. */
  times: z.number().int().min(1).optional(),
});
export type DriftRule = z.output<typeof driftRule>;
/** A rule as written: what has a default may be left out. */
export type DriftRuleInput = z.input<typeof driftRule>;
