import { personName } from './names.js';
import { Random } from './random.js';
import { accountId, type Source, sources } from './sources.js';
import { dayMs, weekMs } from './time.js';
import type { StoredChannel, StoredCompany, StoredMember, StoredOrganization, WorldSizes } from './types.js';

/** The name under which the organization's own company and product appear everywhere. */
export const product = 'Lumenfold';
export const productDomain = 'lumenfold.example';

/** The label of the service's own agent; its exact value is omitted in the document (Story). */
export const agentName = 'Signals Agent';

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

/** Channels: the common ones first, then one shared channel a company. The first are the busiest. */
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

/** Where a message can be opened in its source system; emails cannot. */
export function messageUrl(source: Source, channel: StoredChannel, sourceMessageId: string): string | null {
  if (source.name === 'email') return null;
  return `https://${source.name}.example/${channel.sourceServerId}/${channel.sourceChannelId}/${sourceMessageId}`;
}
