import { z } from 'zod';
import { holding, type Kind } from './privacy.js';

/**
 * The building blocks of the wire schemas. They are as strict as the API document is explicit, and no stricter: an
 * object keeps undocumented fields, and a field whose presence is not promised may be absent or null.
 * Whatever has text takes its kind: what it says about people (privacy.ts).
 */

/**
 * Whether a value is an identifier that can be stored and asked for as it is. A NUL or half of a surrogate pair would have to
 * be replaced, and two ids could then be the same.
 */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/[\0\p{Cs}]/u.test(value);
}

/** An object, which may have more fields. Unlike zod's own, its type refuses a field whose text was given no kind. */
export const object = <T extends Readonly<Record<string, z.ZodType>>>(shape: T) => z.looseObject(shape);

/** An identifier. The document says UUID for some and string for others; only its being there is relied on. */
export const id = (kind: Kind) =>
  holding(
    kind,
    z
      .string()
      .min(1)
      .refine(isId, 'is not valid text: it has a NUL or half of a surrogate pair')
      .meta({ pattern: '^[^\\u0000]*$' }),
  );

/** Ids of people and companies as the paths of `/people/{personId}/history` and company identities demand them. */
export const digits = z.string().regex(/^\d+$/);

/** The forms of a date-time: all of them are times for DuckDB as well (raw.moment in sql/migrations). */
const dateTimeForm =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d(?::?\d\d)?)?$/;

const offset = /(?:[Zz]|[+-]\d\d(?::?\d\d)?)$/;

/**
 * A date-time in milliseconds, as DuckDB reads it (raw.moment); NaN where it is none. Without an offset it is UTC: for
 * `Date.parse` it is in the time zone of this machine, and one of hours alone is none.
 */
export function millisecondsOf(time: unknown): number {
  if (typeof time !== 'string') return Number.NaN;
  const [zone] = offset.exec(time.slice('2026-01-01'.length)) ?? [];
  return Date.parse(zone === undefined ? `${time}Z` : zone.length === '+00'.length ? `${time}:00` : time);
}

/** Whether the month has the day: there is no 30th of February, and no year 0. */
function isDay(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split('-').map(Number);
  return year > 0 && (day <= 28 || day <= new Date(Date.UTC(year, month, 0)).getUTCDate());
}

const dateTimeOf = (kind: Kind) =>
  holding(
    kind,
    z
      .string()
      .regex(dateTimeForm, { message: 'is not a date-time', abort: true })
      .refine(isDay, { message: 'is not a day of the calendar' })
      .meta({ format: 'date-time' }),
  );

/** "timestamps are ISO 8601 date-time strings" (Resources and their fields, conventions). */
export const dateTime = dateTimeOf('time');

/** Fields typed only as "timestamp", or not typed at all: a date-time string, or a number of (milli)seconds. */
const timestamp = holding('time', z.union([dateTime, z.number()], { error: 'is not a date-time' }));

export const count = z.number().int();

/** A field that may be null or missing. */
export const maybe = <T extends z.ZodType>(schema: T) => schema.nullish();

export const string = (kind: Kind) => holding(kind, z.string());
export const text = (kind: Kind) => maybe(string(kind));
export const texts = (kind: Kind) => maybe(z.array(string(kind)));
export const flag = maybe(z.boolean());
export const number = maybe(z.number());
export const integer = maybe(count);
export const when = maybe(dateTime);
export const moment = maybe(timestamp);
/** When something was deleted. One that cannot be read is rejected with its item: as NULL, it would say that nothing was. */
export const whenDeleted = maybe(dateTimeOf('time'));
export const freeForm = (kind: Kind) => maybe(holding(kind, z.record(z.string(), z.unknown())));

const seenTime = dateTimeOf('seen');
/** When a person, company or channel was first or last seen. */
export const seen = maybe(seenTime);

const optionalTimes: ReadonlySet<unknown> = new Set([dateTime, timestamp, seenTime]);

/** Whether an item is still true without this time: one that cannot be read is drift, and its column is NULL. */
export function isOptionalTime(schema: z.ZodType | undefined): boolean {
  return schema instanceof z.ZodOptional && optionalTimes.has((schema.unwrap() as z.ZodNullable).unwrap());
}

/** How sure a model was, or how much two things are alike. */
export const score = maybe(holding('score', z.number()));

/** How much a person or company wrote each week, and on average. */
const activityNumber = holding('activity', z.number());
export const activity = maybe(activityNumber);
export const activities = maybe(z.array(activityNumber));
