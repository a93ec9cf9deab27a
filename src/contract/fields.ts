import { z } from 'zod';

/**
 * The building blocks of the wire schemas. They are as strict as the API document is explicit, and no stricter: an
 * object keeps fields that nobody documented, and a field whose presence is not promised may be absent or null.
 */

/**
 * Whether a value is an identifier that can be stored and asked for as it is. A NUL or half of a surrogate pair would have to
 * be replaced, and two ids could then be the same.
 */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/[\0\p{Cs}]/u.test(value);
}

/** An identifier. The document says UUID for some and string for others; only its being there is relied on. */
export const id = z
  .string()
  .min(1)
  .refine(isId, 'is not valid text: it has a NUL or half of a surrogate pair')
  .meta({ pattern: '^[^\\u0000]*$' });

/** Ids of people and companies as the paths of `/people/{personId}/history` and company identities demand them. */
export const digits = z.string().regex(/^\d+$/);

/** "timestamps are ISO 8601 date-time strings" (Resources and their fields, conventions). */
export const dateTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d(?::?\d\d)?)?$/)
  .meta({ format: 'date-time' });

/** Fields typed only as "timestamp", or not typed at all: a date-time string, or a number of (milli)seconds. */
const timestamp = z.union([dateTime, z.number()]);

export const count = z.number().int();

/** A field that may be null or missing. */
export const maybe = <T extends z.ZodType>(schema: T) => schema.nullish();

export const text = maybe(z.string());
export const flag = maybe(z.boolean());
export const number = maybe(z.number());
export const integer = maybe(count);
export const texts = maybe(z.array(z.string()));
export const numbers = maybe(z.array(z.number()));
export const when = maybe(dateTime);
export const moment = maybe(timestamp);
export const freeForm = maybe(z.record(z.string(), z.unknown()));
