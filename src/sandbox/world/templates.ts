import { Random } from './random.js';
import { dayMs } from './time.js';
import type { WorldSizes } from './types.js';

const ideas: readonly { name: string; prompt: string; schedule: Record<string, unknown> }[] = [
  {
    name: 'Weekly digest',
    prompt: 'Summarise the topics that grew most this week, with two quotes for each.',
    schedule: { type: 'cron', expr: '0 8 * * 1' },
  },
  {
    name: 'VIP watch',
    prompt: 'List every new conversation with a VIP person or company that staff has not answered.',
    schedule: { type: 'interval', n: 4, unit: 'hours' },
  },
  {
    name: 'Release check',
    prompt: 'After a release, look for bug reports that mention the new version.',
    schedule: {
      type: 'event',
      events: ['github.pull_request.merged'],
      delaySeconds: 3600,
      targetBranches: ['main'],
    },
  },
  {
    name: 'Churn risk',
    prompt: 'Name the companies whose tone became worse over the last month, and why.',
    schedule: { type: 'rrule', rrule: 'FREQ=MONTHLY;BYMONTHDAY=1' },
  },
  {
    name: 'Feature request roundup',
    prompt: 'Group the new feature requests by product area and count the companies behind each.',
    schedule: { type: 'cron', expr: '30 7 * * 5' },
  },
  {
    name: 'Unanswered questions',
    prompt: 'Find questions in the community that are older than two days and have no answer.',
    schedule: { type: 'interval', n: 90, unit: 'minutes' },
  },
  {
    name: 'Pricing signals',
    prompt: 'Collect what prospects say about price, with the seats they ask for.',
    schedule: { type: 'cron', expr: '0 9 1,15 * *' },
  },
  {
    name: 'Quarterly review',
    prompt: 'Compare the topics of this quarter with those of the last: what came, what went, what stayed.',
    schedule: { type: 'once', at: '2027-01-04T08:00:00.000Z' },
  },
];

/** Templates of automations by slug, in the assumed form of `contract/stories.ts`. */
export function makeTemplates(sizes: WorldSizes): [string, Record<string, unknown>][] {
  return Array.from({ length: sizes.templates }, (_, i) => {
    const random = new Random(sizes.seed, 'template', i);
    const idea = ideas[i % ideas.length] as (typeof ideas)[number];
    const edition = Math.floor(i / ideas.length) + 1;
    const name = edition === 1 ? idea.name : `${idea.name} (${edition})`;
    const slug = name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/-$/, '');
    const custom = random.chance(0.3);
    const createdAt = sizes.now - random.whole(60, 500) * dayMs;
    const template = {
      slug,
      name,
      description: `${idea.prompt.split(/[,.]/)[0]}.`,
      prompt: idea.prompt,
      schedule: idea.schedule,
      timezone: random.pick(['UTC', 'Europe/Berlin', 'America/New_York']),
      modelLevel: random.pick(['low', 'med', 'high']),
      capabilityMode: custom ? 'custom' : 'all',
      allowedCapabilities: custom ? ['topics.read', 'messages.read'] : null,
      createdAt: new Date(createdAt).toISOString(),
      updatedAt: new Date(createdAt + random.whole(0, 50) * dayMs).toISOString(),
    };
    return [slug, template];
  });
}
