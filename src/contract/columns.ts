import { z } from 'zod';
import { type Kind, kindWithin } from './privacy.js';

/**
 * A field and its column are one declaration: a field whose schema is described (`.describe('Short title.')`) is a column with
 * that comment. Name, type, path and kind follow from the field; one without a description is kept in the document alone.
 */

/** Types of columns, as DuckDB calls them. */
export type ColumnType =
  | `${'VARCHAR' | 'DOUBLE'}${'' | '[]'}`
  | 'BIGINT'
  | 'INTEGER'
  | 'BOOLEAN'
  | 'TIMESTAMPTZ'
  | 'JSON';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Its kind of personal data; undefined for text whose schema names no kind, which the build refuses. */
  readonly kind: Kind | undefined;
  readonly comment: string;
  /** Where the value is in a document, member by member. */
  readonly path?: readonly string[];
}

const names = z.registry<{ name: string | null }>();

/**
 * A field whose column is not called like the path to it. Of an object it is what the names of its parts begin with, '' where
 * they stand alone. Null: neither it nor its parts are columns.
 */
export function column<T extends z.ZodType>(name: string | null, schema: T): T {
  const own = schema.clone() as T;
  names.add(own, { name });
  return own;
}

/** A field that may be a column; one without a comment is none. */
type Place = Omit<Column, 'comment'> & { readonly comment: string | undefined };

/**
 * The columns of the described fields of some items, in the order of the fields. A field that several items have is described
 * in one of them; what only a later one has stands behind the field that it follows there.
 */
export function columnsIn(items: readonly z.ZodObject[]): Column[] {
  const merged: Place[] = [];
  for (const item of items) {
    let next = 0;
    for (const place of placesIn(item, '', [])) {
      const known = merged.findIndex(({ name }) => name === place.name);
      if (known < 0) merged.splice(next, 0, place);
      else if (merged[known]?.comment === undefined) merged[known] = place;
      next = (known < 0 ? next : known) + 1;
    }
  }
  return merged.flatMap(({ comment, ...place }) => (comment === undefined ? [] : { ...place, comment }));
}

function placesIn(item: z.ZodObject, prefix: string, above: readonly string[]): Place[] {
  return Object.entries(item.shape).flatMap(([field, value]): Place[] => {
    const schema = value as z.ZodType;
    const given = names.get(schema)?.name;
    if (given === null) return [];
    const name = given ?? [prefix, snakeCase(field)].filter(Boolean).join('_');
    const path = [...above, field];
    const inner = unwrapped(schema);
    const comment = schema.description;
    if (inner instanceof z.ZodObject && comment === undefined) return placesIn(inner, name, path);
    return [{ name, path, comment, type: typeOf(inner), kind: kindWithin(schema) }];
  });
}

function snakeCase(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapped ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}

/** The type of a field's column: JSON for objects, and for lists of anything but texts and numbers. */
function typeOf(schema: z.ZodType): ColumnType {
  const kind = kindWithin(schema);
  if (schema instanceof z.ZodArray) {
    const element = typeOf(unwrapped(schema.element as z.ZodType));
    return element === 'VARCHAR' || element === 'DOUBLE' ? `${element}[]` : 'JSON';
  }
  if (kind === 'time' || kind === 'seen') return 'TIMESTAMPTZ';
  if (schema instanceof z.ZodNumber) return schema.isInt ? 'BIGINT' : 'DOUBLE';
  if (schema instanceof z.ZodBoolean) return 'BOOLEAN';
  const isText = [z.ZodString, z.ZodEnum, z.ZodUnion].some((one) => schema instanceof one);
  return isText ? 'VARCHAR' : 'JSON';
}
