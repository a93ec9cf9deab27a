import { z } from 'zod';
import { JsonText, sentText } from '../../api/json-text.js';
import type { Arrival } from '../../base/clock.js';
import { isObject } from '../../base/json.js';
import { isOptionalTime } from '../../contract/fields.js';

/** Names an item among those of its kind: its own id, and that of the entity it belongs to, if any. */
export interface ItemKey {
  readonly id: string | null;
  readonly parentId: string | null;
}

/** Where an item does not fit its schema. */
export interface Issue {
  readonly path: string;
  readonly reason: string;
}

/** A field that the document does not name, or a time that cannot be read: its path (lists without positions) and its value. */
interface OddField {
  readonly path: string;
  readonly kind: 'unknown_field' | 'changed_type';
  readonly value: unknown;
}

/** An item of an answer, compared with its schema. */
export interface CheckedItem {
  readonly item: unknown;
  /** Null where it fits. */
  readonly issue: Issue | null;
  /** So many items fail at the same place that the form has changed, and this item is not at fault. */
  readonly formChanged: boolean;
  /** What is not as documented, and leaves the item true. */
  readonly oddFields: readonly OddField[];
}

/** A rejected item, kept in case the form turns out to have changed. */
export interface HeldItem {
  readonly key: ItemKey;
  readonly text: JsonText;
  readonly arrivedAt: Arrival;
}

interface Failure {
  times: number;
  readonly held: HeldItem[];
}

interface KindStats {
  items: number;
  readonly fields: Set<string>;
  /** By the path at which items fail. */
  readonly failures: Map<string, Failure>;
}

/** The form counts as changed when at least this many items of a kind fail alike, and they are most of them. */
const fewestFailures = 3;
/** DuckDB parses an item in memory several times its size; no message, topic or person that people wrote comes near. */
const usualMaxItemBytes = 16 * 2 ** 20;

/** A documented field counts as missing when none of at least this many items has it. */
const fewestItems = 20;

/**
 * Compares the items of one run with the document, by kind: where they fail alike, which fields the document does not
 * name, and which documented fields none of them has.
 */
export class SchemaDrift {
  /** The most bytes that an item may have. */
  readonly maxItemBytes: number;
  readonly #kinds = new Map<string, KindStats>();

  constructor({ maxItemBytes = usualMaxItemBytes }: { readonly maxItemBytes?: number | undefined } = {}) {
    this.maxItemBytes = maxItemBytes;
  }

  /** Compares the items of one answer with their schema. All of them count before one of them is judged. */
  check(kind: string, schema: z.ZodType, items: readonly unknown[]): CheckedItem[] {
    const stats = this.#statsOf(kind);
    const documented = documentedFields(schema);
    const compared = items.map((item) => {
      const { issue, oddFields } = compare(schema, item);
      if (isObject(item)) {
        stats.items += 1;
        for (const field in item) if (documented?.has(field)) stats.fields.add(field);
      }
      if (issue) failureAt(stats, issue.path).times += 1;
      collectUnknown(documentedFields(schema), item, '', oddFields);
      return { item, issue, oddFields };
    });
    return compared.map((one) => {
      const failures = one.issue ? failureAt(stats, one.issue.path).times : 0;
      return { ...one, formChanged: failures >= fewestFailures && failures * 2 > stats.items };
    });
  }

  /** Keeps an item that was rejected at this path, in case the form turns out to have changed. */
  hold(kind: string, path: string, item: HeldItem): void {
    const { held } = failureAt(this.#statsOf(kind), path);
    if (held.length < fewestFailures) held.push(item);
  }

  /** Returns, once, the items that were rejected at this path before the change of form was recognized. */
  takeHeld(kind: string, path: string): HeldItem[] {
    return failureAt(this.#statsOf(kind), path).held.splice(0);
  }

  /** The documented fields that none of enough items of a kind had. */
  missingFields(kind: string, schema: z.ZodObject, optional: readonly string[]): string[] {
    const { items, fields } = this.#statsOf(kind);
    if (items < fewestItems) return [];
    return Object.keys(schema.shape).filter((field) => !fields.has(field) && !optional.includes(field));
  }

  #statsOf(kind: string): KindStats {
    const stats = this.#kinds.get(kind) ?? { items: 0, fields: new Set(), failures: new Map() };
    this.#kinds.set(kind, stats);
    return stats;
  }
}

function failureAt({ failures }: KindStats, path: string): Failure {
  const failure = failures.get(path) ?? { times: 0, held: [] };
  failures.set(path, failure);
  return failure;
}

/** What is wrong with a value first; times that cannot be read, where it is true without them, are only odd. */
function compare(schema: z.ZodType, value: unknown): { issue: Issue | null; oddFields: OddField[] } {
  const oddFields: OddField[] = [];
  let issue: Issue | null = null;
  const { error } = schema.safeParse(value, { reportInput: true });
  for (const { path: parts, message, input } of error?.issues ?? []) {
    const path = parts.map((part) => (typeof part === 'number' ? '[]' : String(part))).join('.');
    if (isOptionalTime(schemaAt(schema, parts))) oddFields.push({ path, kind: 'changed_type', value: input });
    else issue ??= { path, reason: message };
  }
  return { issue, oddFields };
}

/** The innermost schema on a path. */
function schemaAt(schema: z.ZodType, [part, ...rest]: readonly PropertyKey[]): z.ZodType {
  const outer = unwrapped(schema);
  const inner = outer instanceof z.ZodObject ? outer.shape[part as string] : elementOf(outer);
  return part === undefined || inner === undefined ? schema : schemaAt(inner, rest);
}

/** A part of an item that does not fit its schema. */
export interface BadPart extends Issue {
  readonly text: JsonText;
}

/**
 * The members of an item that do not fit, and of a list in it the values that do not, with the text of the item without
 * them. A bad member that is neither an object nor a list stays in the text: a model reads nothing from it.
 */
export function badParts(
  schema: z.ZodObject,
  item: Record<string, unknown>,
  text: JsonText,
): { bad: BadPart[]; rest: JsonText } {
  const bad: BadPart[] = [];
  const changes: Record<string, JsonText | null> = {};
  for (const [name, field] of Object.entries(schema.shape)) {
    const value = item[name];
    const element = elementOf(field as z.ZodType);
    if (element && Array.isArray(value)) {
      const texts = text.member(name)?.elements() ?? [];
      const good = value.flatMap((one, index) => {
        const own = texts[index] ?? sentText(one);
        const { issue } = compare(element, one);
        if (issue === null) return own;
        bad.push({ path: joined(`${name}.[]`, issue.path), reason: issue.reason, text: own });
        return [];
      });
      if (good.length < value.length) changes[name] = JsonText.list(good);
      continue;
    }
    const { issue } = compare(field as z.ZodType, value);
    if (issue === null) continue;
    bad.push({
      path: joined(name, issue.path),
      reason: issue.reason,
      text: text.member(name) ?? sentText(value),
    });
    changes[name] = null;
  }
  return { bad, rest: text.with(changes) };
}

function joined(path: string, inner: string): string {
  return inner === '' ? path : `${path}.${inner}`;
}

/** A schema without what allows null and absence. */
function unwrapped(schema: z.ZodType): z.ZodType {
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapped ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}

/** The schema of a list's values; undefined for anything but a list. */
function elementOf(schema: z.ZodType): z.ZodType | undefined {
  const list = unwrapped(schema);
  return list instanceof z.ZodArray ? (list.element as z.ZodType) : undefined;
}

/** The documented fields of an object, nested; null where the inside of a value is free, or the value has none. */
type Fields = ReadonlyMap<string, Fields | null>;

const fieldsBySchema = new WeakMap<z.ZodType, Fields | null>();

/** The documented fields under a schema, looking through null, absence and lists; null for anything but an object. */
function documentedFields(schema: z.ZodType): Fields | null {
  const cached = fieldsBySchema.get(schema);
  if (cached !== undefined) return cached;
  const fields = deriveFields(schema);
  fieldsBySchema.set(schema, fields);
  return fields;
}

function deriveFields(schema: z.ZodType): Fields | null {
  const element = elementOf(schema);
  if (element) return documentedFields(element);
  const inner = unwrapped(schema);
  if (!(inner instanceof z.ZodObject)) return null;
  return new Map(
    Object.entries(inner.shape).map(([name, field]) => [name, documentedFields(field as z.ZodType)]),
  );
}

/** Adds every field of a value that its schema does not name, however deep. */
function collectUnknown(fields: Fields | null, value: unknown, path: string, found: OddField[]): void {
  if (fields === null || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) collectUnknown(fields, item, path, found);
    return;
  }
  for (const name in value) {
    const documented = fields.get(name);
    const inside = (value as Record<string, unknown>)[name];
    const innerPath = path === '' ? name : `${path}.${name}`;
    if (documented === undefined) found.push({ path: innerPath, kind: 'unknown_field', value: inside });
    else if (documented !== null) collectUnknown(documented, inside, innerPath, found);
  }
}
