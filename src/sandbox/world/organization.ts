import { personName } from './names.js';
import { Random } from './random.js';
import { organizationTexts, type Source } from './texts.js';
import { dayMs, weekMs } from './time.js';
import type { StoredChannel, StoredCompany, StoredMember, StoredOrganization, WorldSizes } from './types.js';

/** The organization; the seed decides its id. */
export function makeOrganization(seed: number): StoredOrganization {
  const { name, slug } = organizationTexts;
  return { id: `org_${new Random(seed, 'organization').digits(10)}`, name, slug };
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

/** Channels: the common ones first, then one shared channel per company. The first ones are the busiest. */
export function makeChannels(sizes: WorldSizes, companies: readonly StoredCompany[]): StoredChannel[] {
  const { channels: plans, name: product, sources } = organizationTexts;
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

/** The source of that name; an unknown name gets the properties of a plain message system. */
export function sourceNamed(name: string): Source {
  const plain = { weight: 0, messageType: 'message', threads: false, notes: false, reactions: false };
  return organizationTexts.sources.find((source) => source.name === name) ?? { name, ...plain };
}

/** A source; those with more weight are drawn more often. */
export function pickSource(random: Random): string {
  return random.weighted(Object.fromEntries(organizationTexts.sources.map((s) => [s.name, s.weight])));
}

/** An account id; some sources have numbers, some have words. */
export function accountId(random: Random, source: string): string {
  return source === 'discord' || source === 'github' ? random.digits(18) : random.uuid().slice(0, 13);
}

/** The address of a message in its source system; an email has none. */
export function messageUrl(source: string, channel: StoredChannel, sourceMessageId: string): string | null {
  if (source === 'email') return null;
  return `https://${source}.example/${channel.sourceServerId}/${channel.sourceChannelId}/${sourceMessageId}`;
}

/** Automation templates by slug, in the form that `contract/automations.ts` assumes. */
export function makeTemplates(sizes: WorldSizes): [string, Record<string, unknown>][] {
  const ideas = organizationTexts.templates;
  return Array.from({ length: sizes.templates }, (_, i) => {
    const { name, ...idea } = ideas[i % ideas.length] as (typeof ideas)[number];
    const slug = slugOf(i < ideas.length ? name : `${name} ${i}`);
    const isCustom = i % 3 === 1;
    const at = new Date(sizes.now - (60 + i) * dayMs).toISOString();
    const capabilities = isCustom ? ['topics.read', 'messages.read'] : null;
    const mode = { capabilityMode: isCustom ? 'custom' : 'all', allowedCapabilities: capabilities };
    const common = {
      description: name,
      timezone: 'Europe/Berlin',
      modelLevel: 'med',
      createdAt: at,
      updatedAt: at,
    };
    return [slug, { slug, name, ...idea, ...common, ...mode }];
  });
}

/** `text` in lower case, of ASCII letters, digits and single hyphens. */
export function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
