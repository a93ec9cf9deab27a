export interface PagingSettings {
  /** Name of the query parameter that carries the page's number (not shown in the document). */
  readonly pageParameter: string;
  /** Name of the query parameter that carries the page's size (not shown in the document). */
  readonly limitParameter: string;
  /** The size to ask for; the server grants what it likes. */
  readonly pageSize: number;
}

/** What a scan learned about an endpoint, so that the next one does not pay for it again. */
export interface Learned {
  /** The size that we ask for is answered 400. */
  sizeRefused?: boolean;
  /** The list has no pages: one answer is all of it. */
  unpaged?: boolean;
  /** Where counting starts, for a list that does not say so. */
  base?: 0 | 1;
}

/** The settings of paging, and what has been found out during this client's life. */
export class PagingMemory {
  readonly #learned = new Map<string, Learned>();

  constructor(readonly settings: PagingSettings) {}

  about(name: string): Learned {
    const learned = this.#learned.get(name) ?? {};
    this.#learned.set(name, learned);
    return learned;
  }
}
