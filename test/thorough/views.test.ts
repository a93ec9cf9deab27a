import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredMessage, StoredTopic } from '../../src/sandbox/world/types.js';
import type { Row } from '../support/expected/row.js';
import { type Reader, read } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

// The views' answers, compared with the same questions put to the sandbox's own organization in TypeScript; and states of
// the past, compared with what was written down while it was the present.

const dayMs = 86_400_000;
const hourMs = 3_600_000;
/** The organization ends before the clock of this machine, as every real one does. */
const today = Math.floor(Date.now() / dayMs) * dayMs - 2 * dayMs + 9 * hourMs;
const days = 200;

type Noted = Pick<StoredTopic, 'title' | 'priority' | 'lifecycleState' | 'graphStatus' | 'archivedAt'>;

const folders = new Folders();
let sandbox: Sandbox;
/** Pulled on the first day and after the last one. */
let twice: Pulling;
/** Pulled after the last day alone: its past is known from histories. */
let once: Pulling;
/** What each topic was at the end of each day: by moment, then by id. */
const past = new Map<number, Map<string, Noted>>();

beforeAll(async () => {
  sandbox = await startTown({
    sizes: { topics: 40, people: 40, companies: 8, messages: 900, now: today - days * dayMs, weeks: 20 },
  });
  twice = Pulling.into(folders, sandbox);
  once = Pulling.into(folders, sandbox);
  expect((await twice.sync()).code).toBe(0);
  const shape = { newTopics: 0.01, archives: 0.02, priorityChanges: 0.06, merges: 0.002, activeTopics: 0.05 };
  for (let day = 0; day < days; day++) {
    sandbox.advance(1, shape);
    past.set(sandbox.world.now, new Map([...sandbox.world.topics].map(([id, topic]) => [id, { ...topic }])));
  }
  for (const pulling of [twice, once]) expect((await pulling.sync()).code).toBe(0);
});
afterAll(async () => {
  folders.remove();
  await sandbox.stop();
});

const ask = <T = Row>(sql: string, from = once): Promise<T[]> =>
  read(from.dataDir, ({ rows }) => rows<T>(sql));
const iso = (time: number) => new Date(time).toISOString();

/** Whether a topic was in the backlog. */
const isOpen = ({ graphStatus, archivedAt, lifecycleState }: Noted) =>
  graphStatus === 'active' &&
  archivedAt === null &&
  !['completed', 'dismissed'].includes(lifecycleState ?? '');

describe.each(['once', 'twice'] as const)('as of a day, pulled %s', (how) => {
  const pulling = () => (how === 'once' ? once : twice);

  it('is what the sandbox had on that day, for 200 days or every fifth of them', async () => {
    const stored = new Set(
      (await ask<{ id: string }>('SELECT id FROM topics', pulling())).map(({ id }) => id),
    );
    // Gone before any sync could see it, or moved by the migration, whose history the API does not return.
    const isKnown = (id: string) => stored.has(id) && sandbox.world.topics.get(id)?.migrated !== true;
    const isListed = (id: string) =>
      how === 'once' || (sandbox.world.topics.get(id)?.graphStatus ?? 'superseded') !== 'superseded';
    const wrong: string[] = [];
    let compared = 0;
    await read(pulling().dataDir, async ({ rows }) => {
      const chosen = how === 'once' ? [...past] : [...past].filter((_, index) => index % 5 === 0);
      for (const [moment, topics] of chosen) {
        const found = await rows<Row>(
          `SELECT topic_id AS id, title, priority, lifecycle_state, graph_status, is_open
             FROM topic_as_of('${iso(moment)}') WHERE deleted_at IS NULL`,
        );
        const asOf = new Map(found.filter(({ id }) => isKnown(String(id))).map((row) => [row.id, row]));
        for (const [id, topic] of topics) {
          const row = asOf.get(id);
          asOf.delete(id);
          // What changed between two syncs is lost when the topic is gone at the second, or listed no more.
          if (!isKnown(id) || !isListed(id)) continue;
          compared += 1;
          const { title, priority, lifecycleState, graphStatus } = topic;
          const expected = {
            id,
            title,
            priority,
            lifecycle_state: lifecycleState,
            graph_status: graphStatus,
            is_open: isOpen(topic),
          };
          if (JSON.stringify(row) !== JSON.stringify(expected))
            wrong.push(`${iso(moment)}: ${JSON.stringify(row)} should be ${JSON.stringify(expected)}`);
        }
        for (const id of asOf.keys()) wrong.push(`${iso(moment)}: ${id} did not exist`);
      }
    });
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(compared).toBeGreaterThan(days * (how === 'once' ? 30 : 6));
  });

  it('the backlog of a day has the topics that were open at its end, and the weeks add up', async () => {
    const backlog = await ask('SELECT topic_id FROM backlog ORDER BY 1', pulling());
    expect(
      await ask(`SELECT topic_id FROM backlog_as_of('${iso(sandbox.world.now)}') ORDER BY 1`, pulling()),
    ).toEqual(backlog);
    const weeks = await ask<{ open: number; new: number; reopened: number; closed: number }>(
      'SELECT sum(open)::INT AS open, sum(new)::INT AS new, sum(reopened)::INT AS reopened, sum(closed)::INT AS closed FROM backlog_weekly GROUP BY week ORDER BY week',
      pulling(),
    );
    expect(weeks.at(-1)?.open).toBe(backlog.length);
    let before = 0;
    for (const { open, new: added, reopened, closed } of weeks) {
      expect(open).toBe(before + added + reopened - closed);
      before = open;
    }
    // Each week's end is the same question as a moment.
    const ends = await ask<{ week: string; open: number }>(
      'SELECT week::VARCHAR AS week, sum(open)::INT AS open FROM backlog_weekly WHERE open > 0 GROUP BY week ORDER BY week DESC LIMIT 20',
      pulling(),
    );
    for (const { week, open } of ends) {
      const sunday = iso(Date.parse(week) + 6 * dayMs).slice(0, 10);
      expect(await ask(`SELECT count(*) AS open FROM backlog_as_of('${sunday}')`, pulling())).toEqual([
        { open },
      ]);
    }
  });
});

/** A message as the views see it: who wrote it on which side. Null when it does not count. */
function spoken(message: StoredMessage) {
  const { authors, people, companies } = sandbox.world;
  if (message.deletedAt !== null) return null;
  const author = authors.get(message.authorId);
  const person = author?.personId == null ? undefined : people.get(author.personId);
  const company = person?.companyId == null ? undefined : companies.get(person.companyId);
  const side =
    author?.isBot || person?.isBot ? 'bot' : person?.isStaff || message.isInternal ? 'staff' : 'external';
  return {
    ...message,
    // The API has whole milliseconds.
    createdAt: Math.trunc(message.createdAt),
    side,
    personId: person?.id ?? null,
    senderId: person?.id ?? message.authorId,
    companyId: company?.id ?? null,
    isVip: person?.isVip === true || company?.isVip === true,
  };
}
type Spoken = NonNullable<ReturnType<typeof spoken>>;

const storedGroups = new Set<string>();
const storedTopics = new Set<string>();
/** The conversations that the API returns, with their topic where the API returns that: it lists no superseded ones. */
const groupsOf = () =>
  [...sandbox.world.groups.values()]
    .filter(({ id }) => storedGroups.has(id))
    .map((group) => ({ ...group, topicId: storedTopics.has(group.topicId ?? '') ? group.topicId : null }));

interface Turn {
  readonly groupId: string;
  readonly side: string;
  readonly messages: Spoken[];
  answeredAt: number | null;
}

/** The turns of all conversations: public messages of people, cut where the side changes. */
function turnsOf(groupId: string): Turn[] {
  const group = sandbox.world.groups.get(groupId);
  const messages = (group?.messageIds ?? [])
    .flatMap((id) => {
      const one = spoken(sandbox.world.messages.get(id) as StoredMessage);
      return one === null || one.side === 'bot' || one.isInternal ? [] : [one];
    })
    .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  const turns: Turn[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last?.side === message.side) last.messages.push(message);
    else {
      if (last) last.answeredAt = message.createdAt;
      turns.push({ groupId, side: message.side, messages: [message], answeredAt: null });
    }
  }
  return turns;
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) / 2;
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

/** Fractions differ in their last digits. In steps of half a second or so, at whose edges no round number is. */
const rounded = (value: unknown) =>
  typeof value === 'number' && Math.abs(value) < 1e6 ? Math.round(value * 7919.31) : value;

/** The rows that only one of the two has, the first few of them. */
function differences(found: readonly Row[], expected: readonly Row[]): string[] {
  const text = (row: Row) =>
    JSON.stringify(Object.fromEntries(Object.entries(row).map(([name, value]) => [name, rounded(value)])));
  const [here, there] = [new Set(found.map(text)), new Set(expected.map(text))];
  return [
    ...[...there]
      .filter((row) => !here.has(row))
      .slice(0, 4)
      .map((row) => `missing: ${row}`),
    ...[...here]
      .filter((row) => !there.has(row))
      .slice(0, 4)
      .map((row) => `wrong: ${row}`),
    ...(found.length === expected.length ? [] : [`${found.length} rows, not ${expected.length}`]),
  ];
}

describe('today', () => {
  beforeAll(async () => {
    for (const { id } of await ask<{ id: string }>('SELECT id FROM groups')) storedGroups.add(id);
    for (const { id } of await ask<{ id: string }>('SELECT id FROM topics')) storedTopics.add(id);
  });

  it('awaiting_reply', async () => {
    const [clock] = await ask<{ ms: number }>('SELECT epoch(as_of) * 1000 AS ms FROM data_as_of');
    const expected = groupsOf().flatMap((group) => {
      const turns = turnsOf(group.id);
      const last = turns.at(-1);
      if (last?.side !== 'external' || group.archivedAt !== null) return [];
      const [first, latest] = [last.messages[0], last.messages.at(-1)];
      return {
        group_id: group.id,
        topic_id: group.topicId,
        priority: sandbox.world.topics.get(group.topicId ?? '')?.priority ?? null,
        since: first?.createdAt ?? null,
        hours: ((clock?.ms ?? 0) - (first?.createdAt ?? 0)) / hourMs,
        last_at: latest?.createdAt ?? null,
        person: latest?.personId ?? null,
        side: 'external',
        is_vip: last.messages.some(({ isVip }) => isVip),
        before: turns.length > 2,
        messages: last.messages.length,
      };
    });
    const found = await ask(`
      SELECT group_id, topic_id, topic_priority AS priority, epoch_ms(waiting_since) AS since, waiting_hours AS hours,
        epoch_ms(last_message_at) AS last_at, last_person_id AS person, side, is_vip, was_answered_before AS before, messages
      FROM awaiting_reply`);
    expect(expected.length).toBeGreaterThan(50);
    expect(expected.some(({ before }) => before)).toBe(true);
    expect(differences(found, expected)).toEqual([]);
  });

  it('conversation_turns and response_times, in working hours as well', async () => {
    const turns = groupsOf().flatMap(({ id, topicId }) => {
      const all = turnsOf(id);
      const first = all.findIndex(({ side }) => side === 'external');
      return all.flatMap((turn, index) =>
        turn.side === 'external' ? { ...turn, topicId, isFirst: index === first } : [],
      );
    });
    const rows = turns.map(({ topicId, messages, answeredAt, isFirst }) => {
      const [first] = messages as [Spoken];
      return {
        month: iso(first.createdAt).slice(0, 7),
        source: first.sourceName,
        priority: sandbox.world.topics.get(topicId ?? '')?.priority ?? null,
        kind: isFirst ? 'first' : 'next',
        hours: answeredAt === null ? null : (answeredAt - first.createdAt) / hourMs,
        business: answeredAt === null ? null : workingHours(first.createdAt, answeredAt),
      };
    });
    expect(
      differences(
        await ask(`
      SELECT strftime(began_at AT TIME ZONE 'UTC', '%Y-%m') AS month, source_name AS source, priority, answer AS kind,
        hours_to_answer AS hours, business_hours_to_answer AS business
      FROM conversation_turns LEFT JOIN conversation_topics USING (group_id) WHERE side = 'external'`),
        rows,
      ),
    ).toEqual([]);
    const key = ({ month, source, priority, kind }: (typeof rows)[number]) =>
      JSON.stringify({ month, source, priority, kind });
    const expected = [...new Set(rows.map(key))].map((one) => {
      const same = rows.filter((row) => key(row) === one);
      return {
        ...(JSON.parse(one) as Row),
        questions: same.length,
        answered: same.filter(({ hours }) => hours !== null).length,
        median: median(same.flatMap(({ hours }) => hours ?? [])),
        business: median(same.flatMap(({ business }) => business ?? [])),
      };
    });
    expect(
      differences(
        await ask(`
      SELECT strftime(month, '%Y-%m') AS month, source_name AS source, priority, answer AS kind, questions, answered,
        median_hours AS median, median_business_hours AS business FROM response_times`),
        expected,
      ),
    ).toEqual([]);
  });

  it('topic_momentum', async () => {
    const [clock] = await ask<{ ms: number }>('SELECT epoch(as_of) * 1000 AS ms FROM data_as_of');
    const now = clock?.ms ?? 0;
    const listed = await ask<{ id: string }>('SELECT id FROM topics WHERE deleted_at IS NULL');
    const expected = listed.map(({ id }) => {
      const written = groupsOf()
        .filter(({ topicId }) => topicId === id)
        .flatMap(({ messageIds }) =>
          messageIds.flatMap((one) => spoken(sandbox.world.messages.get(one) as StoredMessage) ?? []),
        )
        .filter(({ side, createdAt }) => side === 'external' && createdAt <= now);
      const between = (from: number, to: number) =>
        written.filter(({ createdAt }) => createdAt > now - from * dayMs && createdAt <= now - to * dayMs);
      const [last, before] = [between(28, 0), between(56, 28)];
      return {
        topic_id: id,
        last7: between(7, 0).length,
        before7: between(14, 7).length,
        last28: last.length,
        before28: before.length,
        growth: before.length === 0 ? null : last.length / before.length,
        doubled: before.length > 0 && last.length >= 2 * before.length,
        people: new Set(last.map(({ senderId }) => senderId)).size,
        companies: new Set(last.flatMap(({ companyId }) => companyId ?? [])).size,
      };
    });
    const found = await ask(`
      SELECT topic_id, messages_last_7_days AS last7, messages_7_days_before AS before7, messages_last_28_days AS last28,
        messages_28_days_before AS before28, if(messages_last_28_days = 0 AND messages_28_days_before > 0, 0, growth_28_days) AS growth,
        has_doubled AS doubled, people_last_28_days AS people, companies_last_28_days AS companies
      FROM topic_momentum`);
    expect(differences(found, expected)).toEqual([]);
  });

  it('company_topics', async () => {
    const { world } = sandbox;
    const pairs = new Map<string, { people: Set<string>; messages: number }>();
    for (const { topicId, messageIds } of groupsOf()) {
      if (topicId === null || world.topics.get(topicId)?.migrated !== false) continue;
      for (const id of messageIds) {
        const one = spoken(world.messages.get(id) as StoredMessage);
        const person = one?.personId == null ? undefined : world.people.get(one.personId);
        if (!one || !person || person.isStaff || person.isBot || one.companyId === null) continue;
        if (world.companies.get(one.companyId)?.isOrgCompany) continue;
        const key = `${topicId} ${one.companyId}`;
        const pair = pairs.get(key) ?? { people: new Set(), messages: 0 };
        pairs.set(key, pair);
        pair.people.add(person.id);
        if (one.side === 'external') pair.messages += 1;
      }
    }
    const employees = (company: string) =>
      [...world.people.values()].filter(({ companyId }) => companyId === company).length;
    const expected = [...pairs].map(([key, { people, messages }]) => {
      const [topic = '', company = ''] = key.split(' ');
      return {
        topic,
        company,
        people: people.size,
        messages,
        employees: employees(company),
        vip: world.companies.get(company)?.isVip,
      };
    });
    const found = await ask(`
      SELECT topic_id AS topic, company_id AS company, people, messages, employees, is_vip AS vip FROM company_topics
      JOIN topics ON topics.id = topic_id WHERE topics.detail_unavailable_reason IS NULL`);
    expect(expected.length).toBeGreaterThan(20);
    expect(differences(found, expected as Row[])).toEqual([]);
  });

  it('lifecycle_funnel', async () => {
    const known = await ask<{ id: string }>(
      'SELECT id FROM topics WHERE deleted_at IS NULL AND detail_unavailable_reason IS NULL',
    );
    const reached = new Map<string, number[]>();
    const stayed = new Map<string, number[]>();
    for (const { id } of known) {
      const topic = sandbox.world.topics.get(id) as StoredTopic;
      const moves = (sandbox.world.history.get(`topic:${id}`) ?? []).flatMap(({ changes, changedAt }) =>
        'lifecycleState' in changes ? { state: changes.lifecycleState as string | null, at: changedAt } : [],
      );
      const passed = moves.filter(({ state }, index) => state !== (moves[index - 1]?.state ?? null));
      passed.forEach(({ state, at }, index) => {
        if (state === null) return;
        const isFirst = passed.findIndex((one) => one.state === state) === index;
        if (isFirst) reached.set(state, [...(reached.get(state) ?? []), (at - topic.createdAt) / dayMs]);
        const next = passed[index + 1];
        if (next) stayed.set(state, [...(stayed.get(state) ?? []), (next.at - at) / dayMs]);
      });
    }
    const expected = [...reached].map(([step, list]) => ({
      step,
      topics: list.length,
      reach: median(list),
      stay: median(stayed.get(step) ?? []),
    }));
    // Of a topic that the migration moved, only the present state is known.
    const found = await readWithoutMigrated(
      "SELECT step, topics::INT AS topics, median_days_to_reach AS reach, median_days_in_state AS stay FROM lifecycle_funnel WHERE step <> 'created'",
    );
    expect(differences(found, expected)).toEqual([]);
  });

  it('message_search finds exactly the messages with one of the words', async () => {
    const simple = (text: string) => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
    for (const words of ['export', 'SAML login', 'webhook 検索', 'nothingatall']) {
      const wanted = simple(words).split(' ');
      const expected = groupsOf().flatMap(({ messageIds }) =>
        messageIds.filter((id) => {
          const { deletedAt, title, content } = sandbox.world.messages.get(id) as StoredMessage;
          const text = simple(`${title ?? ''} ${content}`);
          return deletedAt === null && wanted.some((word) => text.includes(word));
        }),
      );
      const found = await ask<{ id: string; score: number; n: number }>(
        `SELECT message_id AS id, score, words_found AS n FROM message_search('${words}')`,
      );
      expect(found.map(({ id }) => id).sort()).toEqual(expected.sort());
      expect(found.map(({ score }) => score)).toEqual(
        found.map(({ score }) => score).toSorted((a, b) => b - a),
      );
    }
  });
});

/** The view on a copy of the file without the topics whose past the API does not return. */
async function readWithoutMigrated(sql: string): Promise<Row[]> {
  const { copyFileSync } = await import('node:fs');
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const copy = `${once.dataDir}/without-migrated.duckdb`;
  copyFileSync(`${once.dataDir}/signals.duckdb`, copy);
  const instance = await DuckDBInstance.create(copy);
  const connection = await instance.connect();
  await connection.run('DELETE FROM topics WHERE detail_unavailable_reason IS NOT NULL');
  connection.closeSync();
  instance.closeSync();
  return read(once.dataDir, ({ rows }: Reader) => rows(sql), 'without-migrated.duckdb');
}

/** Working hours between two moments, day by day: Monday to Friday, 9 to 17 in UTC. */
function workingHours(from: number, to: number): number {
  let ms = 0;
  for (let start = Math.floor(from / dayMs) * dayMs; start <= to; start += dayMs) {
    if ([0, 6].includes(new Date(start).getUTCDay())) continue;
    ms += Math.max(0, Math.min(to, start + 17 * hourMs) - Math.max(from, start + 9 * hourMs));
  }
  return ms / hourMs;
}
