import { createHash } from 'node:crypto';
import { UnparsedList } from '../../api/unparsed-list.js';

/** So many things are remembered: 100 bytes each, and a run brings hardly ever more. */
const most = 200_000;

/**
 * What conversations (and authors) said when this run last landed them. The same conversation comes by its topic, by
 * each company and by people: said again without a change, its messages need not be taken apart, staged and compared
 * once more, which is most of the work of a first pull. Holds only while nothing takes conversations away: whoever does,
 * says so here.
 */
export class SeenContent {
  readonly #said = new Map<string, { readonly digest: string; readonly at: number }>();

  /** Whether `name`, when last landed, said just that, and not later than `at`; remembers it if not. */
  hasSeen(name: string, said: unknown, at: Date): boolean {
    const digest = digestOf(said);
    const before = this.#said.get(name);
    const moment = at.getTime();
    // Answers can be landed in another order than they came in: what is remembered is always the youngest.
    if (before && before.at > moment) return false;
    if (before?.digest === digest) return true;
    if (before || this.#said.size < most) this.#said.set(name, { digest, at: moment });
    return false;
  }

  /** They are taken in again, should they come again. */
  forget(names: Iterable<string>): void {
    for (const name of names) this.#said.delete(name);
  }

  forgetAll(): void {
    this.#said.clear();
  }
}

function digestOf(said: unknown): string {
  if (said instanceof UnparsedList) return said.digest();
  return createHash('sha1').update(JSON.stringify(said)).digest('base64');
}
