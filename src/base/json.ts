/** Any value that JSON can hold. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** Whether a value is an object, and neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a JSON text; undefined for any other text. */
export function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
