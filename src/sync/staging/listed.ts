import type { Known } from '../../run/known.js';

/** The item was staged in this run: which of its parts are stored is not known. */
const staged = Number.POSITIVE_INFINITY;

/**
 * Which items of lists are stored as their list returns them: those need not be stored again. What is stored is known by a hash
 * of the whole item (ops.entities.item_hash), which is only there while no other answer about the same entity is newer: the next
 * listing is stored all the same then, so that it counts as the later one, and so is the first listing of what was absent.
 */
export class ListedItems {
  /** The last answer that had an item as it is stored. */
  readonly #last = new Map<string, number>();
  readonly #known: Pick<Known, 'entity'>;

  constructor(known: Pick<Known, 'entity'>) {
    this.#known = known;
  }

  /** Whether an item with this hash is stored like that, or a later answer of this run had it so; call it for what is staged if not. */
  isStored(list: string, id: string, itemHash: number, answerNo: number): boolean {
    const name = `${list}\n${id}`;
    const last = this.#last.get(name) ?? -1;
    if (last === staged) return false;
    // Pages are asked for together: this one may be older than one that was staged before.
    if (answerNo < last) return true;
    const isSame = this.#known.entity(list, id)?.itemHash === itemHash;
    this.#last.set(name, isSame ? answerNo : staged);
    return isSame;
  }
}
