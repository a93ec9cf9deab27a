import { createHash } from 'node:crypto';
import { JsonText } from '../../api/json-text.js';
import type { Arrival } from '../../base/clock.js';

/** The most that is remembered: about 100 bytes each, and a run hardly ever brings more. */
const mostEntries = 200_000;

/**
 * The content of conversations and authors when this run last landed them. The same conversation comes with its topic,
 * with each company and with people: when it has not changed, its messages need not be taken apart, staged and compared
 * again, which is most of the work of a first pull. This holds only while no conversation is removed: code that removes
 * some must say so here.
 */
export class SeenContent {
  readonly #seen = new Map<string, { readonly digest: string; readonly no: number }>();

  /** Whether `name` was last landed with this content, and not later than this arrival. Remembers the content if not. */
  hasSeen(name: string, content: unknown, { no }: Pick<Arrival, 'no'>): boolean {
    const digest = digestOf(content);
    const last = this.#seen.get(name);
    // Answers may land in another order than they arrived in: the latest is remembered.
    if (last && last.no > no) return false;
    if (last?.digest === digest) return true;
    if (last || this.#seen.size < mostEntries) this.#seen.set(name, { digest, no });
    return false;
  }

  /** Makes these land again when they come again. */
  forget(names: Iterable<string>): void {
    for (const name of names) this.#seen.delete(name);
  }

  forgetAll(): void {
    this.#seen.clear();
  }
}

function digestOf(content: unknown): string {
  if (content instanceof JsonText) return content.digest();
  return createHash('sha1').update(JSON.stringify(content)).digest('base64');
}
