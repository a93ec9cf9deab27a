import { channelCounts } from '../world/counts.js';
import type { StoredChannel } from '../world/types.js';
import { iso, type Lens } from './lens.js';

/** Channel; `description` is left out where there is none. */
export function channelOf(lens: Lens, channel: StoredChannel) {
  const counts = channelCounts(lens.world, channel.id);
  return {
    id: channel.id,
    channelName: channel.channelName,
    context: channel.context,
    ...(channel.description === null ? {} : { description: channel.description }),
    createdAt: iso(channel.createdAt),
    updatedAt: iso(channel.updatedAt),
    isConnected: channel.isConnected,
    lastSeenAt: iso(counts.lastSeenAt),
    messageCount: counts.messageCount,
    serverName: channel.serverName,
    sourceChannelId: channel.sourceChannelId,
    sourceName: channel.sourceName,
    sourceServerId: channel.sourceServerId,
  };
}
