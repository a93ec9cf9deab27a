import { z } from 'zod';
import { flag, id, integer, text, when } from './fields.js';
import { paging, type ResourceEntry } from './resource-entry.js';

export const organization = z.looseObject({ id, name: text, slug: text });

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

export const channelResources = {
  channels: {
    parent: null,
    endpoint: {
      path: '/channels',
      summary: 'Channels',
      query: paging,
      response: z.unknown(),
      documented: false,
    },
    item: channel,
    key: ['id'],
    reads: 'pages',
    detail: 'channel',
    presence: null,
  },
  channel: {
    parent: 'channels',
    endpoint: {
      path: '/channels/{channelId}',
      summary: 'One channel',
      params: z.object({ channelId: id }),
      response: channel,
    },
    item: channel,
    answer: { form: 'object' },
    weight: 150,
    maxAgeDays: 30,
    changeFields: ['$.updatedAt', '$.isConnected', '$.channelName'],
    skippedWhenListHas: Object.keys(channel.omit({ description: true }).shape),
    removedWithParent: false,
  },
} as const satisfies Record<string, ResourceEntry>;
