import type { z } from 'zod';
import { isObject } from '../../base/json.js';
import type { Key } from '../../contract/resource-entry.js';
import type { Resources } from '../../contract/resources.js';
import type {
  Coverage,
  Document,
  DocumentKey,
  Drift,
  DriftKind,
  MemberSet,
  Rejection,
} from '../../warehouse/load/batch.js';
import { storable } from '../../warehouse/load/batch.js';
import { type Issue, type ItemKey, SchemaDrift } from './schema-drift.js';
import { SeenContent } from './seen-content.js';

const exampleLength = 200;

/** The id of an item when it is one: a non-empty string. */
export function idOf(item: Record<string, unknown>, field = 'id'): string | null {
  const value = item[field];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** What names an item, by the key of its resource; null when a field of it is not text. */
export function nameOf(item: unknown, key: Key): string | null {
  const values = key.map((path) => path.split('.').reduce<unknown>(fieldOf, item));
  if (!values.every((value) => typeof value === 'string')) return null;
  return values.join(':') || null;
}

function fieldOf(value: unknown, field: string): unknown {
  return isObject(value) ? value[field] : undefined;
}

/** What is stored of an item, where parts of it are documents of their own. */
type Reduce = (item: Record<string, unknown>) => Record<string, unknown>;

/**
 * Takes one answer apart into documents. Each item is checked by its schema: a bad one is rejected with its path and
 * reason while the others land; unknown fields stay in the document and are counted. The schema's parsed copy is not
 * used: the document is exactly what the API returned.
 */
export class Landing {
  readonly documents: Document[] = [];
  readonly removed: DocumentKey[] = [];
  readonly sets: MemberSet[] = [];
  readonly coverage: Coverage[] = [];
  readonly rejections: Rejection[] = [];
  readonly #landed = new Set<string>();
  readonly #noted = new Map<string, Omit<Drift, 'seenAt'>>();
  readonly #schemaDrift: SchemaDrift;

  /**
   * Without the schema drift of a whole run, a change of form is recognized within this answer alone; without the content
   * that the run has seen, everything in the answer lands.
   */
  constructor(
    readonly fetchedAt: Date,
    schemaDrift: SchemaDrift = new SchemaDrift(),
    readonly seenContent: SeenContent = new SeenContent(),
  ) {
    this.#schemaDrift = schemaDrift;
  }

  get drift(): Drift[] {
    return [...this.#noted.values()].map((drift) => ({ ...drift, seenAt: this.fetchedAt }));
  }

  /**
   * Lands a list of items of one kind and returns those that landed. An item is rejected for what is wrong with it alone;
   * when most items of a kind fail at the same field, the form has changed: they land, the field is reported as drift,
   * and its column is null where it cannot be read.
   */
  items(
    kind: string,
    schema: z.ZodType,
    items: readonly unknown[],
    key: (item: Record<string, unknown>) => ItemKey,
    reduce: Reduce = (item) => item,
  ): Record<string, unknown>[] {
    const landed: Record<string, unknown>[] = [];
    for (const { item, issue, formChanged, unknownFields } of this.#schemaDrift.check(kind, schema, items)) {
      if (!isObject(item)) {
        this.#reject(kind, { ...key({}), id: null }, '', 'is not an object', item);
        continue;
      }
      const itemKey = key(item);
      if (itemKey.id === null) {
        this.#reject(kind, itemKey, issue?.path ?? 'id', issue?.reason ?? 'has no usable id', item);
        continue;
      }
      const value = reduce(item);
      if (issue && !formChanged) {
        this.#reject(kind, itemKey, issue.path, issue.reason, item);
        this.#schemaDrift.hold(kind, issue.path, { key: itemKey, value, fetchedAt: this.fetchedAt });
        continue;
      }
      if (issue) this.#landHeld(kind, issue, item);
      this.document(kind, itemKey, value);
      for (const field of unknownFields) this.#note(kind, field.path, 'unknown_field', field.value);
      landed.push(item);
    }
    return landed;
  }

  /** Notes a change of form, and lands what was rejected for it before it was recognized. */
  #landHeld(kind: string, { path }: Issue, item: Record<string, unknown>): void {
    const isMissing = !path.includes('.') && item[path] === undefined;
    this.#note(kind, path, isMissing ? 'missing_field' : 'changed_type', isMissing ? null : item[path]);
    for (const { key, value, fetchedAt } of this.#schemaDrift.takeHeld(kind, path)) {
      this.document(kind, key, value, fetchedAt);
    }
  }

  /**
   * Notes every documented field that no item of its kind had in the whole run. A field that none of many items has is
   * one that vanished; where the document does not show the form, or calls the field optional, absence means nothing.
   */
  noteMissingFields({ lists, children, embedded }: Resources): void {
    const inside = Object.entries(embedded).map(([name, entry]) => ({ name, ...entry }));
    for (const { name, item, optionalFields } of [...lists, ...children, ...inside]) {
      if (item === null || optionalFields === undefined) continue;
      for (const field of this.#schemaDrift.missingFields(name, item, optionalFields)) {
        this.#note(name, field, 'missing_field', null);
      }
    }
  }

  /** Lands one item; false when it was rejected. */
  item(kind: string, schema: z.ZodType, item: unknown, key: ItemKey, reduce?: Reduce): boolean {
    return this.items(kind, schema, [item], () => key, reduce).length > 0;
  }

  /** Stores a value unchecked: one of our own, or the rest of an answer whose parts were checked. */
  document(kind: string, key: ItemKey, value: Record<string, unknown>, fetchedAt = this.fetchedAt): void {
    if (key.id === null) return;
    const { text, repaired } = storable(value);
    if (repaired) this.#note(kind, '', 'repaired_text', key.id);
    this.#landed.add(`${kind}\n${key.id}`);
    this.documents.push({
      endpoint: kind,
      id: key.id,
      parentId: key.parentId,
      body: text,
      fetchedAt,
    });
  }

  /** Whether this answer already brought a document of that kind and id. */
  has(kind: string, id: string): boolean {
    return this.#landed.has(`${kind}\n${id}`);
  }

  /** Says which documents of a kind belong to a parent: any other that is stored is removed. */
  members(kind: string, parentId: string, ids: readonly string[]): void {
    this.sets.push({ endpoint: kind, parentId, ids, fetchedAt: this.fetchedAt });
  }

  #reject(kind: string, key: ItemKey, path: string, reason: string, item: unknown): void {
    const body = storable(item ?? null).text;
    this.rejections.push({ endpoint: kind, ...key, path, reason, body, seenAt: this.fetchedAt });
  }

  #note(kind: string, path: string, drift: DriftKind, example: unknown): void {
    const name = `${kind}\n${path}\n${drift}`;
    const noted = this.#noted.get(name);
    const text = noted ? noted.example : storable(example ?? null).text.slice(0, exampleLength);
    this.#noted.set(name, {
      endpoint: kind,
      path,
      kind: drift,
      example: text,
      count: (noted?.count ?? 0) + 1,
    });
  }
}
