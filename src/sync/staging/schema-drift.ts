import { z } from 'zod';
import { JsonText, sentText } from '../../api/json-text.js';
import type { Arrival } from '../../base/clock.js';
import { isObject } from '../../base/json.js';

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

/** A field that the document does not name: its path (lists without positions) and its value. */
interface UnknownField {
  readonly path: string;
  readonly value: unknown;
}

/** An item of an answer, compared with its schema. */
export interface CheckedItem {
  readonly item: unknown;
  /** Null where it fits. */
  readonly issue: Issue | null;
  /** So many items fail at the same place that the form has changed, and this item is not at fault. */
  readonly formChanged: boolean;
  readonly unknownFields: readonly UnknownField[];
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

/** The form counts as changed when at least so many items of a kind fail alike, and they are most of them. */
const fewestFailures = 3;
/** DuckDB parses an item in memory several times its size; no message, topic or person that people wrote comes near. */
const usualMaxItemBytes = 16 * 2 ** 20;

/** A documented field counts as missing when none of at least so many items has it. */
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
      const issue = firstIssue(schema, item);
      if (isObject(item)) {
        stats.items += 1;
        for (const field in item) if (documented?.has(field)) stats.fields.add(field);
      }
      if (issue) failureAt(stats, issue.path).times += 1;
      return { item, issue };
    });
    return compared.map(({ item, issue }) => {
      const times = issue ? failureAt(stats, issue.path).times : 0;
      const formChanged = times >= fewestFailures && times * 2 > stats.items;
      return { item, issue, formChanged, unknownFields: unknownFieldsOf(schema, item) };
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

function firstIssue(schema: z.ZodType, item: unknown): Issue | null {
  const result = schema.safeParse(item);
  if (result.success) return null;
  const issue = result.error.issues[0];
  return {
    path: (issue?.path ?? []).map((part) => (typeof part === 'number' ? '[]' : String(part))).join('.'),
    reason: issue?.message ?? 'does not have the documented form',
  };
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
        const issue = firstIssue(element, one);
        if (issue === null) return own;
        bad.push({ path: joined(`${name}.[]`, issue.path), reason: issue.reason, text: own });
        return [];
      });
      if (good.length < value.length) changes[name] = JsonText.list(good);
      continue;
    }
    const issue = firstIssue(field as z.ZodType, value);
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

/** The schema of a list's values, looking through null and absence; undefined for anything but a list. */
function elementOf(schema: z.ZodType): z.ZodType | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return elementOf(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodArray ? (schema.element as z.ZodType) : undefined;
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
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return documentedFields(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) return documentedFields(schema.element as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return null;
  return new Map(
    Object.entries(schema.shape).map(([name, field]) => [name, documentedFields(field as z.ZodType)]),
  );
}

const none: readonly UnknownField[] = [];

/** Every field of a value that its schema does not name, however deep. */
function unknownFieldsOf(schema: z.ZodType, value: unknown): readonly UnknownField[] {
  const found: UnknownField[] = [];
  collectUnknown(documentedFields(schema), value, '', found);
  return found.length === 0 ? none : found;
}

function collectUnknown(fields: Fields | null, value: unknown, path: string, found: UnknownField[]): void {
  if (fields === null || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) collectUnknown(fields, item, path, found);
    return;
  }
  for (const name in value) {
    const documented = fields.get(name);
    const inside = (value as Record<string, unknown>)[name];
    const innerPath = path === '' ? name : `${path}.${name}`;
    if (documented === undefined) found.push({ path: innerPath, value: inside });
    else if (documented !== null) collectUnknown(documented, inside, innerPath, found);
  }
}
