import { z } from 'zod';

/** Where `value` holds keys that `schema` does not name; the contract itself accepts any key. */
export function undocumented(schema: z.ZodType, value: unknown, path = ''): string[] {
  if (value === null || value === undefined) return [];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return undocumented(schema.unwrap() as z.ZodType, value, path);
  }
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return value.flatMap((item, index) =>
      undocumented(schema.element as z.ZodType, item, `${path}[${index}]`),
    );
  }
  if (schema instanceof z.ZodObject && typeof value === 'object') {
    const shape: Record<string, z.ZodType> = schema.shape;
    return Object.entries(value).flatMap(([key, inner]) => {
      const known = shape[key];
      return known ? undocumented(known, inner, `${path}.${key}`) : [`${path}.${key}`];
    });
  }
  return [];
}
