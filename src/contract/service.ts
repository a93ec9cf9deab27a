import { z } from 'zod';
import { flag, id, integer, text, when } from './fields.js';

export const organization = z.looseObject({ id, name: text, slug: text });
export type Organization = z.infer<typeof organization>;

/** `GET /whoami`. */
export const whoamiAnswer = z.looseObject({ organization });

/** `GET /channels/{channelId}`; the item of `GET /channels` is not shown and read with the same schema. */
export const channel = z.looseObject({
  id,
  channelName: text,
  context: text,
  description: text,
  createdAt: when,
  updatedAt: when,
  isConnected: flag,
  lastSeenAt: when,
  messageCount: integer,
  serverName: text,
  sourceChannelId: text,
  sourceName: text,
  sourceServerId: text,
});

/** The body of every error answer (Errors). */
export const errorBody = z.looseObject({
  code: z.string(),
  message: z.string(),
  status: z.number().int(),
  defined: z.boolean(),
  data: z.unknown().optional(),
});
export type ErrorBody = z.infer<typeof errorBody>;

/** `{data, limit, page, totalCount}`, the form of every paged list (Endpoints, general rules). */
export const paged = <T extends z.ZodType>(item: T) =>
  z.looseObject({
    data: z.array(item),
    limit: z.number().int(),
    page: z.number().int(),
    totalCount: z.number().int(),
  });

/** `{data: [...]}`, the form of the lists that are not paged. */
export const listed = <T extends z.ZodType>(item: T) => z.looseObject({ data: z.array(item) });
