import { z } from 'zod';
import { flag, id, integer, maybe, number, numbers, text, texts, when } from './fields.js';

export const personConnections = z.looseObject({
  github: text,
  linkedin: text,
  phone: text,
  title: text,
  twitter: text,
  website: text,
});

/**
 * `GET /people/{personId}`. The item of `GET /people` is not shown; it is read with the same schema, since each
 * field but the id may be absent here.
 */
export const person = z.looseObject({
  id,
  avatarUrl: text,
  avgMessagesPerWeek: number,
  company: maybe(
    z.looseObject({
      id: text,
      domain: text,
      logoUrl: text,
      name: text,
      employees: maybe(z.array(z.looseObject({ id, avatarUrl: text, name: text }))),
    }),
  ),
  connections: maybe(personConnections),
  conversationCount: integer,
  createdAt: when,
  description: text,
  displayName: text,
  ecosystemTags: texts,
  expertiseTags: texts,
  firstSeenAt: when,
  identityCount: integer,
  isVip: flag,
  lastSeenAt: when,
  messageCount: integer,
  primaryEmail: text,
  sources: texts,
  weeklyActivity: numbers,
});
export type Person = z.infer<typeof person>;

/** `GET /people/{personId}/identities`: not shown; assumed to be like a company's External identity. */
export const identity = z.looseObject({
  id: text,
  platform: z.string(),
  platformId: z.string(),
  platformUsername: text,
});

/** `GET /people/{personId}/source-stats`: not shown; assumed to be like `sourceStats` of a company's activity. */
export const sourceStat = z.looseObject({ source: z.string(), messageCount: integer });

/** One item of `POST /people`; which fields are required is not shown. */
export const newPerson = z.looseObject({
  avatarUrl: z.string().optional(),
  connections: personConnections.optional(),
  description: z.string().optional(),
  displayName: z.string().optional(),
  isVip: z.boolean().optional(),
  primaryEmail: z.string().optional(),
});

/** The body of `PATCH /people/{personId}`: not shown; assumed to take the fields of a new person. */
export const personChange = newPerson;

export const createPeople = z.object({ people: z.array(newPerson).min(1) });
export const createdPeople = z.looseObject({
  results: z.array(
    z.looseObject({ success: z.boolean(), displayName: text, data: maybe(person), error: text }),
  ),
});

export const mergePeople = z.object({ sourcePersonIds: z.array(id).min(1), targetPersonId: id });
export const mergedPeople = z.looseObject({ mergedCount: z.number() });
