import { z } from 'zod';

/**
 * The kinds of personal data in fields of the API. A kind is named where the field is (see fields.ts); sql/privacy.yaml says what
 * each kind is, and what masked files do with it. Columns, masks and what is left of a forgotten person follow from it.
 */

/** Every kind of field and column, by how much it says about people; sql/privacy.yaml explains these classes. */
const kindsByClass = {
  none: ['none', 'time', 'seen', 'activity', 'score'],
  identifier: [
    ...(['record_id', 'topic_id', 'conversation_id', 'message_id', 'company_id', 'person_id'] as const),
    ...(['author_id', 'user_id', 'channel_id', 'story_slug', 'source_id', 'account_id'] as const),
    ...(['entity_id', 'reaction', 'source_url', 'request_path'] as const),
  ],
  personal: [
    ...(['person_name', 'person_email', 'person_contact', 'person_job', 'person_about'] as const),
    ...(['person_picture', 'person_tags', 'account_name', 'company_name', 'company_domain'] as const),
    ...(['company_logo', 'company_contact', 'entity_name'] as const),
  ],
  content: [
    ...(['topic_title', 'topic_keywords', 'topic_text', 'ticket', 'ticket_url'] as const),
    ...(['conversation_title', 'message_title', 'message_text', 'channel_name', 'server_name'] as const),
    ...(['channel_text', 'story_text', 'story_note', 'template_text', 'history_values'] as const),
    ...(['change_values', 'document', 'worker_note'] as const),
  ],
} as const;

export type PrivacyClass = keyof typeof kindsByClass;
export type Kind = (typeof kindsByClass)[PrivacyClass][number];

const classes = new Map<Kind, PrivacyClass>(
  (Object.keys(kindsByClass) as PrivacyClass[]).flatMap((one) =>
    kindsByClass[one].map((kind) => [kind, one] as const),
  ),
);

export const kinds: readonly Kind[] = [...classes.keys()];

/** How much a kind says about people. */
export function classOf(kind: Kind): PrivacyClass {
  return classes.get(kind) ?? 'content';
}

const declared = z.registry<{ kind: Kind }>();

/** The schema of a field of this kind. The kind is stored for this very schema, which must not be one that others use. */
export function holding<T extends z.ZodType>(kind: Kind, schema: T): T {
  declared.add(schema, { kind });
  return schema;
}

/** The kind of personal data that this very schema names; undefined where it names none. */
export function kindOf(schema: z.ZodType): Kind | undefined {
  return declared.get(schema)?.kind;
}

/** A field of an item, as its schema describes it. */
export interface Field {
  readonly name: string;
  /** Undefined for text whose schema names no kind: `npm run generate` refuses it. */
  readonly kind: Kind | undefined;
  /** The fields of an object, or of the objects in a list. */
  readonly fields: readonly Field[];
}

/** The kind of personal data of a field, by the schema of its value; undefined for text whose schema names no kind. */
export function kindWithin(schema: z.ZodType): Kind | undefined {
  return described(schema).kind;
}

/** The fields of an object's schema, each with what is inside of it. */
export function fieldsOf(item: z.ZodObject): Field[] {
  return Object.entries(item.shape).map(([name, schema]) => ({ name, ...described(schema as z.ZodType) }));
}

function described(schema: z.ZodType): Omit<Field, 'name'> {
  const kind = kindOf(schema);
  if (kind !== undefined) return { kind, fields: [] };
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return described(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) return described(schema.element as z.ZodType);
  if (schema instanceof z.ZodObject) return { kind: 'document', fields: fieldsOf(schema) };
  if (schema instanceof z.ZodString) return { kind: undefined, fields: [] };
  const isHarmless = [z.ZodNumber, z.ZodBoolean, z.ZodEnum].some((one) => schema instanceof one);
  return { kind: isHarmless ? 'none' : 'document', fields: [] };
}
