import { Priority } from '../api/client.js';
import { isObject } from '../base/json.js';
import { storiesLimit } from '../contract/limits.js';
import type { List } from '../contract/resources.js';
import type { storyBuckets } from '../contract/stories.js';
import type { Context } from './context.js';
import { arrayIn, landList } from './landing/answers.js';
import { Landing, nameOf } from './landing/landing.js';
import type { ListRead } from './scan.js';

type Bucket = (typeof storyBuckets)[number];

/** A bucket, the count that an answer gives for it, and which of the stories seen are in it. */
const others: readonly {
  bucket: Bucket;
  count: string;
  holds: (story: Record<string, unknown>) => boolean;
}[] = [
  { bucket: 'archived', count: 'archivedCount', holds: (story) => isObject(story.archive) },
  { bucket: 'unread', count: 'unreadCount', holds: (story) => story.isRead === false },
  { bucket: 'for-you', count: 'forYouCount', holds: (story) => isObject(story.viewerRelevance) },
];

/**
 * Reads the stories. A bucket shows at most 100 and has no pages, so the others are asked only where the counts say
 * that they hold what `everything` did not show. What is missing is never taken for gone.
 */
export async function readStories(context: Context, list: List): Promise<ListRead> {
  const startedAt = new Date(context.clock.now());
  const seen = new Map<string, Record<string, unknown>>();
  const first = await readBucket(context, list, 'everything', seen);
  let requests = 1;
  for (const { bucket, count, holds } of others) {
    const total = first[count];
    const known = [...seen.values()].filter(holds).length;
    if (typeof total !== 'number' || total <= known) continue;
    await readBucket(context, list, bucket, seen);
    requests += 1;
  }
  const total = typeof first.everythingCount === 'number' ? first.everythingCount : null;
  const hidden = total !== null && total > seen.size;
  return {
    startedAt,
    attempts: 1,
    pages: requests,
    items: seen.size,
    ids: new Set(seen.keys()),
    totalCount: total,
    pageBase: null,
    pageSize: storiesLimit,
    form: 'buckets',
    verified: !hidden,
    note: hidden ? `there are ${total}; a bucket shows at most ${storiesLimit}` : null,
  };
}

async function readBucket(
  context: Context,
  list: List,
  bucket: Bucket,
  seen: Map<string, Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const options = { priority: Priority.essential, signal: context.stop };
  const answer = await context.api.call('stories', { query: { bucket, limit: storiesLimit } }, options);
  const where = { endpoint: 'stories', method: 'GET', path: `/stories?bucket=${bucket}` };
  const stories = arrayIn(answer.body, ['stories', 'data'], where);
  const landing = new Landing(answer.arrivedAt, context.schemaDrift);
  landList(landing, list, stories);
  for (const story of stories) {
    const slug = nameOf(story, list.key);
    if (slug !== null && isObject(story)) seen.set(slug, story);
  }
  const { stories: _, ...counts } = isObject(answer.body) ? answer.body : {};
  landing.document('story_buckets', { id: bucket, parentId: null }, counts);
  await context.batcher.add(landing);
  context.observer.progress(seen.size, null);
  return counts;
}
