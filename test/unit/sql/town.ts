import type { Row, Stand } from './stand.js';

/**
 * A handful of people, companies and topics, on which the views' answers can be worked out by hand. The present is
 * Sunday 2026-03-15, noon; `day(n)` is n days before it.
 */
export const present = '2026-03-15T12:00:00Z';
export const day = (ago: number, hours = 0) =>
  new Date(Date.parse(present) - ago * 86_400_000 + hours * 3_600_000).toISOString();

/** The people: their ids and fields. The author of person `x` is `ax`. */
const cast = [
  { id: 'vip', company: 'acme', vip: true },
  { id: 'ann', company: 'acme' },
  { id: 'bob', company: 'beta' },
  { id: 'eve', company: null },
  { id: 'staff', company: 'us' },
  { id: 'bot', company: null },
];

/** Companies (`acme` is a VIP, `us` our own), people, their accounts, and one open topic `t` with everybody in it. */
export async function settle(stand: Stand): Promise<void> {
  await stand.clear();
  await stand.insert('companies', [
    { id: 'acme', name: 'Acme', is_vip: true, is_org_company: false, person_count: 2 },
    { id: 'beta', name: 'Beta', is_vip: false, is_org_company: false, person_count: 1 },
    { id: 'us', name: 'Us', is_org_company: true },
  ]);
  await stand.insert(
    'people',
    cast.map(({ id, company, vip = false }) => ({
      id,
      display_name: `Name of ${id}`,
      company_id: company,
      is_vip: vip,
    })),
  );
  await stand.insert(
    'authors',
    cast.map(({ id }) => ({
      id: `a${id}`,
      source_name: 'slack',
      source_author_id: id,
      is_bot: id === 'bot',
    })),
  );
  await stand.insert(
    'person_identities',
    cast.map(({ id }) => ({ person_id: id, platform: 'slack', platform_id: id, synced_at: present })),
  );
  await stand.insert('topics', [topic('t')]);
  await stand.insert(
    'topic_people',
    cast.map(({ id }) => ({
      topic_id: 't',
      person_id: id,
      is_staff: id === 'staff',
      is_bot: id === 'bot',
      synced_at: present,
    })),
  );
}

/** An open topic of 30 days, updated at present. */
export function topic(id: string, but: Row = {}): Row {
  return {
    id,
    title: `Title of ${id}`,
    priority: 'default',
    lifecycle_state: 'open',
    graph_status: 'active',
    created_at: day(30),
    updated_at: present,
    ...but,
  };
}

/** What somebody said so many days before the present, or at a moment. */
export const by = (who: string | null, at: number | string, but: Row = {}) => ({
  by: who,
  at: typeof at === 'number' ? day(at) : at,
  but,
});

/** Puts messages into a conversation of a topic (or of none), oldest first, named `<group>1`, `<group>2`, … */
export async function talk(
  stand: Stand,
  group: string,
  inTopic: string | null,
  lines: readonly ReturnType<typeof by>[],
): Promise<void> {
  await stand.insert('groups', [{ id: group, title: `Title of ${group}` }]);
  if (inTopic !== null) await stand.insert('topic_groups', [{ topic_id: inTopic, group_id: group }]);
  await stand.insert(
    'messages',
    lines.map(({ by: who, at, but }, index) => ({
      id: `${group}${index + 1}`,
      group_id: group,
      author_id: who === null ? null : `a${who}`,
      created_at: at,
      source_name: 'slack',
      is_internal: false,
      synced_at: present,
      ...but,
    })),
  );
}

/** Rows as lines of their values, in the order of the columns; moments as minutes of UTC. */
export async function lines(stand: Stand, sql: string): Promise<string[]> {
  const rows = await stand.all(sql);
  return rows.map((row) =>
    Object.values(row)
      .map((value) => (value instanceof Date ? value.toISOString().slice(0, 16) : (value ?? '-')))
      .join(' | '),
  );
}
