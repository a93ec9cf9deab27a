/**
 * The search in the history that Ctrl-R begins, as in readline and bash: it grows with each key, and Ctrl-R again goes
 * further back. Knows neither the terminal nor its keys' codes.
 */
export class HistorySearch {
  readonly #entries: readonly string[];
  #wanted = '';
  /** The place of the match; -1 while there is none. */
  #at = -1;
  #failed = false;

  /** `entries` are the newest first; `before` is the line when it began, which is shown until there is a match. */
  constructor(
    entries: readonly string[],
    readonly before: string,
  ) {
    this.#entries = entries;
  }

  /** What is searched for. */
  get wanted(): string {
    return this.#wanted;
  }

  /** The line to show, and to run or edit. */
  get line(): string {
    return this.#entries[this.#at] ?? this.before;
  }

  /** Where the match begins in `line`. */
  get column(): number {
    return Math.max(0, this.#at < 0 ? this.before.length : indexIn(this.line, this.#wanted));
  }

  get prompt(): string {
    return `(${this.#failed ? 'failed ' : ''}reverse-i-search)\`${this.#wanted}': `;
  }

  /** More of what is searched for: the match stays while it has that, too. */
  type(text: string): void {
    this.#wanted += text;
    this.#search(Math.max(0, this.#at));
  }

  /** Takes the last character back, and searches from the newest entry on. */
  erase(): void {
    this.#wanted = [...this.#wanted].slice(0, -1).join('');
    this.#at = -1;
    this.#failed = false;
    if (this.#wanted !== '') this.#search(0);
  }

  /** The next older match; `last` is what was searched for before, for a search that has nothing yet. */
  further(last: string): void {
    const isFirst = this.#wanted === '';
    if (isFirst) this.#wanted = last;
    if (this.#wanted !== '') this.#search(isFirst ? 0 : this.#at + 1);
  }

  /** The match stays where there is no other one. */
  #search(from: number): void {
    const found = this.#entries.findIndex((one, index) => index >= from && indexIn(one, this.#wanted) >= 0);
    this.#failed = found < 0;
    if (found >= 0) this.#at = found;
  }
}

/** A text in small letters is found in any. */
function indexIn(line: string, wanted: string): number {
  const isSmall = wanted === wanted.toLowerCase();
  return (isSmall ? line.toLowerCase() : line).lastIndexOf(wanted);
}
