import { z } from 'zod';
import { flag, id, integer, object, seen, text, when } from './fields.js';
import { paging, type ResourceEntry } from './resource-entry.js';
import type { TableEntry } from './table-entry.js';

export const organization = object({
  id: id('none').describe("The API's id of the organization."),
  name: text('company_name').describe('Name of the organization.'),
  slug: text('company_name').describe('Short name that is used in URLs.'),
});

/** `GET /whoami`. */
export const whoamiAnswer = object({ organization });

/** `GET /channels/{channelId}`; the item of `GET /channels` is not shown and read with the same schema. */
export const channel = object({
  id: id('channel_id').describe("The API's id of the channel (a UUID)."),
  channelName: text('channel_name').describe('Name of the channel.'),
  serverName: text('server_name').describe('Server or workspace it is in.'),
  description: text('channel_text').describe('Description of the channel. NULL when it has none.'),
  context: text('channel_text').describe(
    'What the channel is for and how to prioritise it, as a user wrote it for the service.',
  ),
  isConnected: flag.describe('False when the bot has left the source server.'),
  messageCount: integer.describe('Number of messages, as the service counts them.'),
  lastSeenAt: seen.describe('Time of the latest message (UTC). NULL when there is none.'),
  sourceName: text('none').describe('Source system, e.g. slack.'),
  sourceChannelId: text('source_id').describe('Id of the channel in the source system.'),
  sourceServerId: text('source_id').describe('Id of the server or workspace in the source system.'),
  createdAt: when.describe('When the channel was created in the service (UTC).'),
  updatedAt: when.describe('When it was last updated there (UTC).'),
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

export const serviceTables = {
  organizations: {
    comment:
      'The organization that these signals belong to: one row, because a warehouse belongs to one organization.',
    key: ['id'],
    documents: ['whoami'],
    ids: { id: 'id' },
    fields: [organization],
  },
  channels: {
    comment: 'One row per channel that the service listens to.',
    key: ['id'],
    documents: ['channels', 'channel'],
    ids: { id: 'id' },
    fields: [channel],
  },
} as const satisfies Record<string, TableEntry>;
