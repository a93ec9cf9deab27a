import { z } from 'zod';

/** The documented fields of an object, nested; null stands for a value whose inside is free or scalar. */
export interface Known {
  readonly fields: ReadonlyMap<string, Known | null>;
}

const compiled = new WeakMap<z.ZodType, Known | null>();

/** The documented fields under a schema, looking through null, absence and lists; null for anything but an object. */
export function known(schema: z.ZodType): Known | null {
  const done = compiled.get(schema);
  if (done !== undefined) return done;
  const result = derive(schema);
  compiled.set(schema, result);
  return result;
}

function derive(schema: z.ZodType): Known | null {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return known(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) return known(schema.element as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return null;
  return {
    fields: new Map(Object.entries(schema.shape).map(([name, field]) => [name, known(field as z.ZodType)])),
  };
}

/** Calls `found` for every field that the document does not name: its path (lists without positions) and its value. */
export function eachUnknown(
  shape: Known | null,
  value: unknown,
  found: (path: string, value: unknown) => void,
  path = '',
): void {
  if (shape === null || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) eachUnknown(shape, item, found, path);
    return;
  }
  for (const name in value) {
    const inner = shape.fields.get(name);
    const inside = (value as Record<string, unknown>)[name];
    if (inner === undefined) found(path === '' ? name : `${path}.${name}`, inside);
    else if (inner !== null) eachUnknown(inner, inside, found, path === '' ? name : `${path}.${name}`);
  }
}
