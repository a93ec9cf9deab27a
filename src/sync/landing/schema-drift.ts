import type { z } from 'zod';

/** Names an item among those of its kind: its own id, and that of the entity it belongs to, if any. */
export interface ItemKey {
  readonly id: string | null;
  readonly parentId: string | null;
}

/** A rejected item, kept for the case that not the item was at fault but the form. */
export interface SetAside {
  readonly key: ItemKey;
  readonly value: Record<string, unknown>;
  readonly fetchedAt: Date;
}

interface Seen {
  items: number;
  readonly fields: Set<string>;
  readonly failures: Map<string, { times: number; aside: SetAside[] }>;
}

/** So many items must fail alike before it is the form that changed and not an item that is bad. */
const fewest = 3;
/** So many items of a kind must lack a documented field before it counts as gone. */
const enough = 20;

/** What the items of one run look like, by kind: where they fail alike, and which documented fields none of them has. */
export class SchemaDrift {
  readonly #kinds = new Map<string, Seen>();

  /** Counts an item that has come, whether or not it fits. */
  see(kind: string, item: Record<string, unknown>): void {
    const seen = this.#of(kind);
    seen.items += 1;
    for (const field in item) seen.fields.add(field);
  }

  /** Counts a failure at a path. */
  fail(kind: string, path: string): void {
    this.#failure(kind, path).times += 1;
  }

  /** Whether so many items fail at this path that it is the form that changed. */
  isChanged(kind: string, path: string): boolean {
    const { times } = this.#failure(kind, path);
    return times >= fewest && times * 2 > this.#of(kind).items;
  }

  /** Keeps an item that was rejected for what may turn out to be a change of form. */
  setAside(kind: string, path: string, item: SetAside): void {
    const { aside } = this.#failure(kind, path);
    if (aside.length < fewest) aside.push(item);
  }

  /** Gives back, once, what was set aside before a change of form was recognized as one. */
  takeBack(kind: string, path: string): SetAside[] {
    return this.#failure(kind, path).aside.splice(0);
  }

  /** The documented fields that none of enough items of a kind had. */
  missing(kind: string, schema: z.ZodObject, optional: ReadonlySet<string>): string[] {
    const seen = this.#kinds.get(kind);
    if (!seen || seen.items < enough) return [];
    return Object.keys(schema.shape).filter((field) => !seen.fields.has(field) && !optional.has(field));
  }

  #of(kind: string): Seen {
    const known = this.#kinds.get(kind);
    if (known) return known;
    const seen: Seen = { items: 0, fields: new Set(), failures: new Map() };
    this.#kinds.set(kind, seen);
    return seen;
  }

  #failure(kind: string, path: string): { times: number; aside: SetAside[] } {
    const { failures } = this.#of(kind);
    const known = failures.get(path);
    if (known) return known;
    const failure = { times: 0, aside: [] };
    failures.set(path, failure);
    return failure;
  }
}
