/**
 * The moments at which spent slots come free, oldest first. A queue and not a sorted set: moments are added in order
 * (an earlier one is raised to its predecessor), so that adding, dropping and counting cost the same however many
 * requests fit into a window.
 */
export class Releases {
  #moments: number[] = [];
  #head = 0;

  get count(): number {
    return this.#moments.length - this.#head;
  }

  /** The moment at which `nth` slots (counted from 1) will have come free; undefined when fewer are held. */
  nth(nth: number): number | undefined {
    return this.#moments[this.#head + nth - 1];
  }

  add(at: number): void {
    const last = this.count > 0 ? this.#moments[this.#moments.length - 1] : undefined;
    this.#moments.push(last === undefined ? at : Math.max(at, last));
  }

  /** Forgets the slots that are free at `now`. */
  drop(now: number): void {
    while (this.#head < this.#moments.length && (this.#moments[this.#head] as number) <= now) this.#head++;
    if (this.#head > 512 && this.#head * 2 > this.#moments.length) {
      this.#moments = this.#moments.slice(this.#head);
      this.#head = 0;
    }
  }
}
