import { personName } from './names.js';
import { Random } from './random.js';
import { accountId, type Source, sources } from './sources.js';
import { dayMs, weekMs } from './time.js';
import type { StoredChannel, StoredCompany, StoredMember, StoredOrganization, WorldSizes } from './types.js';

/** The name of the organization, its own company and its product. */
export const product = 'Lumenfold';
export const productDomain = 'lumenfold.example';

/** The name of the service's own agent; the document leaves out its exact value (Story). */
export const agentName = 'Signals Agent';

/** The organization; the seed decides its id. */
export function makeOrganization(seed: number): StoredOrganization {
  return { id: `org_${new Random(seed, 'organization').digits(10)}`, name: product, slug: 'lumenfold' };
}

/** The people with a login to the dashboard, who appear in histories as users. */
export function makeMembers(seed: number): StoredMember[] {
  return Array.from({ length: 9 }, (_, i) => {
    const random = new Random(seed, 'member', i);
    const id = `user_${random.digits(8)}`;
    const image = random.chance(0.6) ? `https://avatars.example/members/${id}.png` : null;
    return { id, name: personName(random), image };
  });
}

const plans: readonly { source: string; name: string; context: string }[] = [
  {
    source: 'slack',
    name: 'customer-support',
    context: 'Paying customers ask for help here. Outages first.',
  },
  { source: 'intercom', name: 'Support inbox', context: 'Conversations from the widget in the product.' },
  { source: 'discord', name: 'general', context: 'Community talk; only recurring complaints become topics.' },
  {
    source: 'email',
    name: 'support@lumenfold.example',
    context: 'Support by email, mostly from administrators.',
  },
  { source: 'github', name: 'lumenfold/app', context: 'Public issues of the self-hosted edition.' },
  {
    source: 'slack',
    name: 'sales-calls',
    context: 'Notes of calls with prospects. Prioritise by deal size.',
  },
  {
    source: 'discord',
    name: 'feature-requests',
    context: 'Wishes of the community, to be grouped by theme.',
  },
  { source: 'discord', name: 'help', context: 'Questions among users; note what the docs lack.' },
  { source: 'slack', name: 'beta-testers', context: 'Feedback on 5.0 beta. Regressions are urgent.' },
  { source: 'email', name: 'sales@lumenfold.example', context: '' },
  { source: 'intercom', name: 'Sales inbox', context: 'Leads from the pricing page.' },
  { source: 'discord', name: 'showcase', context: 'Praise and examples; quotes for marketing.' },
  { source: 'github', name: 'lumenfold/sdk', context: 'Issues of the API clients.' },
  { source: 'slack', name: 'partners', context: 'Resellers & agencies: "their" customers count double.' },
];

/** Channels: the common ones first, then one shared channel per company. The first ones are the busiest. */
export function makeChannels(sizes: WorldSizes, companies: readonly StoredCompany[]): StoredChannel[] {
  const servers = new Map(sources.map((s) => [s.name, new Random(sizes.seed, 'server', s.name).digits(12)]));
  return Array.from({ length: sizes.channels }, (_, i) => {
    const random = new Random(sizes.seed, 'channel', i);
    const customer = companies[(i - plans.length) % Math.max(1, companies.length)];
    const plan = plans[i] ?? {
      source: random.chance(0.8) ? 'slack' : 'discord',
      name: `ext-${(customer?.primaryDomain ?? 'customer').split('.')[0]}-${i}`,
      context: `Shared with ${customer?.name ?? 'a customer'}.`,
    };
    const createdAt = sizes.now - sizes.weeks * weekMs - random.whole(10, 700) * dayMs;
    const isConnected = i < 5 || !random.chance(0.08);
    return {
      id: random.uuid(),
      channelName: plan.name,
      context: plan.context,
      description: random.chance(0.6) ? `Where ${product} listens: ${plan.name}` : null,
      createdAt,
      updatedAt: createdAt + random.whole(0, 9) * dayMs,
      isConnected,
      serverName: plan.source === 'discord' ? `${product} Community` : product,
      sourceChannelId: accountId(random, plan.source),
      sourceName: plan.source,
      sourceServerId: servers.get(plan.source) ?? '1',
    };
  });
}

/** The address of a message in its source system; an email has none. */
export function messageUrl(source: Source, channel: StoredChannel, sourceMessageId: string): string | null {
  if (source.name === 'email') return null;
  return `https://${source.name}.example/${channel.sourceServerId}/${channel.sourceChannelId}/${sourceMessageId}`;
}

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

/** Automation templates by slug, in the form that `contract/automations.ts` assumes. */
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
