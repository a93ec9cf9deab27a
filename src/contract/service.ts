import { z } from 'zod';
import { flag, id, integer, object, seen, text, when } from './fields.js';
import { paging, type ResourceEntry } from './resource-entry.js';

export const organization = object({
  id: id('none'),
  name: text('company_name'),
  slug: text('company_name'),
});

/** `GET /whoami`. */
export const whoamiAnswer = object({ organization });

/** `GET /channels/{channelId}`; the item of `GET /channels` is not shown and read with the same schema. */
export const channel = object({
  id: id('channel_id'),
  channelName: text('channel_name'),
  context: text('channel_text'),
  description: text('channel_text'),
  createdAt: when,
  updatedAt: when,
  isConnected: flag,
  lastSeenAt: seen,
  messageCount: integer,
  serverName: text('server_name'),
  sourceChannelId: text('source_id'),
  sourceName: text('none'),
  sourceServerId: text('source_id'),
});

/** The body of every error answer (Errors). */
export const errorBody = object({
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
      params: z.object({ channelId: id('channel_id') }),
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
