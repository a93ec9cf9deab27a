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
import { type ItemKey, SchemaDrift } from './schema-drift.js';
import { SeenContent } from './seen-content.js';
import { eachUnknown, known } from './unknown-fields.js';

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

/** What is stored of an item, when it is not the item itself, for the parts that are documents of their own. */
type Reduce = (item: Record<string, unknown>) => Record<string, unknown>;

/**
 * Takes one answer apart into documents. Each item is checked by its schema: a bad one is set aside with its path and
 * reason while the others land; unknown fields stay in the document and are counted. The parsed copy of the schema is
 * thrown away: the document is what the API said.
 */
export class Landing {
  readonly documents: Document[] = [];
  readonly removed: DocumentKey[] = [];
  readonly sets: MemberSet[] = [];
  readonly coverage: Coverage[] = [];
  readonly rejections: Rejection[] = [];
  readonly #landed = new Set<string>();
  readonly #drift = new Map<
    string,
    { endpoint: string; path: string; kind: DriftKind; example: string | null; count: number }
  >();

  readonly #shapes: SchemaDrift;

  /**
   * Without the shapes of a whole run, a change of form is recognized within this answer alone; without what the run
   * has landed recently, everything in the answer lands.
   */
  constructor(
    readonly fetchedAt: Date,
    shapes: SchemaDrift = new SchemaDrift(),
    readonly seenContent: SeenContent = new SeenContent(),
  ) {
    this.#shapes = shapes;
  }

  get drift(): Drift[] {
    return [...this.#drift.values()].map((drift) => ({ ...drift, seenAt: this.fetchedAt }));
  }

  /**
   * Lands a list of items of one kind and gives those that did. An item is rejected for what is wrong with it alone;
   * when most items of a kind fail at the same field, it is the form that changed: they land, the field is reported as
   * drift, and its column is null where it cannot be read.
   */
  items(
    endpoint: string,
    schema: z.ZodType,
    items: readonly unknown[],
    key: (item: Record<string, unknown>) => ItemKey,
    reduce: Reduce = (item) => item,
  ): Record<string, unknown>[] {
    const checked = items.map((item) => this.#check(endpoint, schema, item));
    const landed: Record<string, unknown>[] = [];
    for (const { item, issue } of checked) {
      if (!isObject(item)) {
        this.reject(endpoint, { ...key({}), id: null }, '', 'is not an object', item);
        continue;
      }
      const named = key(item);
      if (named.id === null) {
        this.reject(endpoint, named, issue?.path ?? 'id', issue?.reason ?? 'has no usable id', item);
        continue;
      }
      if (issue && !this.#shapes.isChanged(endpoint, issue.path)) {
        this.reject(endpoint, named, issue.path, issue.reason, item);
        const aside = { key: named, value: reduce(item), fetchedAt: this.fetchedAt };
        this.#shapes.setAside(endpoint, issue.path, aside);
        continue;
      }
      if (issue) this.#noteChange(endpoint, issue, item);
      this.document(endpoint, named, reduce(item));
      eachUnknown(known(schema), item, (path, value) => this.note(endpoint, path, 'unknown_field', value));
      landed.push(item);
    }
    return landed;
  }

  #check(endpoint: string, schema: z.ZodType, item: unknown): { item: unknown; issue: Issue | null } {
    const issue = firstIssue(schema, item);
    if (isObject(item)) this.#shapes.see(endpoint, item);
    if (issue) this.#shapes.fail(endpoint, issue.path);
    return { item, issue };
  }

  /** The form changed: what was rejected for it before that was clear lands as well. */
  #noteChange(endpoint: string, { path }: Issue, item: Record<string, unknown>): void {
    const gone = !path.includes('.') && item[path] === undefined;
    this.note(endpoint, path, gone ? 'missing_field' : 'changed_type', gone ? null : item[path]);
    for (const { key, value, fetchedAt } of this.#shapes.takeBack(endpoint, path)) {
      this.document(endpoint, key, value, fetchedAt);
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
      for (const field of this.#shapes.missing(name, item, new Set(optionalFields))) {
        this.note(name, field, 'missing_field', null);
      }
    }
  }

  /** Lands one item; false when it was rejected. */
  item(endpoint: string, schema: z.ZodType, item: unknown, key: ItemKey, reduce?: Reduce): boolean {
    return this.items(endpoint, schema, [item], () => key, reduce).length > 0;
  }

  /** Stores a value as it is, unchecked: what we say ourselves, or the rest of an answer that was checked in parts. */
  document(endpoint: string, key: ItemKey, value: Record<string, unknown>, fetchedAt = this.fetchedAt): void {
    if (key.id === null) return;
    const { text, repaired } = storable(value);
    if (repaired) this.note(endpoint, '', 'repaired_text', key.id);
    this.#landed.add(`${endpoint}\n${key.id}`);
    this.documents.push({
      endpoint,
      id: key.id,
      parentId: key.parentId,
      body: text,
      fetchedAt,
    });
  }

  /** Whether this answer already brought a document of that kind and id. */
  has(endpoint: string, id: string): boolean {
    return this.#landed.has(`${endpoint}\n${id}`);
  }

  set(endpoint: string, parentId: string, ids: readonly string[]): void {
    this.sets.push({ endpoint, parentId, ids, fetchedAt: this.fetchedAt });
  }

  reject(endpoint: string, key: ItemKey, path: string, reason: string, item: unknown): void {
    const body = storable(item ?? null).text;
    this.rejections.push({ endpoint, ...key, path, reason, body, seenAt: this.fetchedAt });
  }

  note(endpoint: string, path: string, kind: DriftKind, example: unknown): void {
    const name = `${endpoint}\n${path}\n${kind}`;
    const seen = this.#drift.get(name);
    if (seen) {
      seen.count += 1;
      return;
    }
    const text = storable(example ?? null).text.slice(0, exampleLength);
    this.#drift.set(name, { endpoint, path, kind, example: text, count: 1 });
  }
}

interface Issue {
  readonly path: string;
  readonly reason: string;
}

function firstIssue(schema: z.ZodType, item: unknown): Issue | null {
  const result = schema.safeParse(item);
  if (result.success) return null;
  const issue = result.error.issues[0];
  return {
    path: (issue?.path ?? []).map((part) => (typeof part === 'number' ? '[]' : String(part))).join('.'),
    reason: issue?.message ?? 'does not have the documented form',
  };
}
