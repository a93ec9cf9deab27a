import { channelCounts } from '../world/counts.js';
import type { StoredChannel, StoredStory } from '../world/types.js';
import { iso, type Renderer } from './renderer.js';

/** Channel; `description` is absent when there is none. */
export function channelOf(renderer: Renderer, { description, ...channel }: StoredChannel) {
  const { lastSeenAt, messageCount } = channelCounts(renderer.world, channel.id);
  return {
    ...channel,
    ...(description === null ? {} : { description }),
    createdAt: iso(channel.createdAt),
    updatedAt: iso(channel.updatedAt),
    lastSeenAt: iso(lastSeenAt),
    messageCount,
  };
}

/** The fields that a story of the list and a single story share. */
function core(story: StoredStory) {
  const { archive } = story;
  return {
    archive: archive
      ? { actor: archive.actor, archivedAt: iso(archive.archivedAt), reason: archive.reason }
      : null,
    createdAt: iso(story.createdAt),
    draft: story.draft,
  };
}

/** A story of `GET /stories`. */
export function storyItem(story: StoredStory) {
  return { ...core(story), isRead: story.isRead, viewerRelevance: viewerRelevance(story) ?? null };
}

/** The story of `GET /stories/{slug}`. */
export function storyOf(story: StoredStory) {
  return { ...core(story), relevantMembers: story.relevantMembers };
}

/** Why the story is relevant to the member that the API key stands for; undefined when it is not. */
export function viewerRelevance(story: StoredStory): Record<string, unknown> | undefined {
  if (story.viewerMemberId === null) return undefined;
  return story.relevantMembers.find((relevance) => relevance.memberId === story.viewerMemberId);
}
