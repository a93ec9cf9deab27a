import { createHash } from 'node:crypto';

/** So many conversations are remembered: 100 bytes each, and a run brings hardly ever more. */
const most = 200_000;

/**
 * What conversations said when this run last landed them. The same conversation comes by its topic, by each company and
 * by people: said again without a change, its messages need not be taken apart, staged and compared once more, which is
 * most of the work of a first pull. Holds only while nothing takes conversations away: whoever does, says so here.
 */
export class Recent {
  readonly #said = new Map<string, { readonly hash: string; readonly at: number }>();

  /** Whether a conversation, when last landed, said just that, and not later than `at`; remembers it if not. */
  isSaid(groupId: string, messages: unknown, at: Date): boolean {
    const hash = createHash('md5').update(JSON.stringify(messages)).digest('base64');
    const before = this.#said.get(groupId);
    const moment = at.getTime();
    // Answers can be landed in another order than they came in: what is remembered is always the youngest.
    if (before && before.at > moment) return false;
    if (before?.hash === hash) return true;
    if (before || this.#said.size < most) this.#said.set(groupId, { hash, at: moment });
    return false;
  }

  /** Their messages are taken in again, should they come again. */
  forget(groupIds: Iterable<string>): void {
    for (const id of groupIds) this.#said.delete(id);
  }

  forgetAll(): void {
    this.#said.clear();
  }
}
