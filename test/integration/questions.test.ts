import { beforeAll, describe, expect, test } from 'vitest';
import { Pulling, townOfFile } from '../support/pulling.js';

/**
 * Fifteen questions of analysts. Each answer of the views is compared with arithmetic over what the API itself answers, by code
 * that knows none of our tables.
 */

const { sandbox } = await townOfFile({ holds: 'nothing' });
let pulling: Pulling;
let org: Organization;

beforeAll(async () => {
  pulling = Pulling.into(sandbox, {
    analysis: { serviceLevels: [{ name: 'all', firstReplyHours: 6, nextReplyHours: 9 }] },
  });
  expect((await pulling.run(['sync'])).code).toBe(0);
  org = await organization();
});

const ask = <Row>(sql: string) => pulling.rows<Row>(sql);

interface Message {
  id: string;
  createdAt: string;
  deletedAt: string | null;
  isInternal: boolean;
  sourceName: string;
  title: string | null;
  content: string | null;
  reactions: { count: number }[];
  author: { id: string; isBot: boolean; sourceName: string; sourceAuthorId: string } | null;
}
interface Conversation {
  group: { id: string; archivedAt: string | null };
  messages: Message[];
}
interface Topic {
  id: string;
  priority: string;
  lifecycleState: string | null;
  createdAt: string;
  updatedAt: string;
  archivedAt: string | null;
  graphStatus?: string;
  persons: { id: string; isStaff: boolean; isBot: boolean }[];
}
interface Change {
  id: string;
  changedAt: string;
  changedBy: string;
  operation: string;
  changes: Record<string, unknown>;
  previousValues: Record<string, unknown> | null;
}
interface Company {
  id: string;
  isOrgCompany: boolean;
  isVip: boolean;
}
interface Person {
  id: string;
  isVip: boolean;
  company: { id: string } | null;
}

/** Who says what on which side, when. */
interface Said {
  message: Message;
  at: number;
  side: 'bot' | 'staff' | 'external';
  person: string | null;
  company: string | null;
  isVip: boolean;
}

interface Organization {
  topics: Topic[];
  /** Those that are open: listed, answered by id, and not done, archived or replaced. */
  open: Topic[];
  companies: Company[];
  histories: Map<string, Change[]>;
  conversations: Map<string, Conversation>;
  groupsOf: Map<string, string[]>;
  peopleOf: Map<string, Person[]>;
  isStaff: (person: string) => boolean;
  isBot: (person: string) => boolean;
  said: Map<string, Said[]>;
  asOf: number;
}

async function get<T>(path: string): Promise<T | null> {
  const answer = await fetch(`${sandbox.baseUrl}${path}`, {
    headers: { authorization: `Bearer ${sandbox.apiKey}` },
  });
  return answer.ok ? ((await answer.json()) as T) : null;
}

async function pages<T>(path: string): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await get<{ data: T[]; totalCount: number }>(
      `${path}${path.includes('?') ? '&' : '?'}page=${page}&limit=100`,
    );
    all.push(...(answer?.data ?? []));
    if (!answer || answer.data.length === 0 || all.length >= answer.totalCount) return all;
  }
}

async function organization(): Promise<Organization> {
  const topics = await pages<Topic>('/topics');
  const people = await pages<Person>('/people');
  const companies = await pages<Company>('/companies');
  const conversations = new Map<string, Conversation>();
  const keep = (found: readonly Conversation[]) => {
    for (const one of found) conversations.set(one.group.id, one);
    return found.map(({ group }) => group.id);
  };
  const [groupsOf, peopleOf, histories] = [new Map(), new Map(), new Map()];
  const open: Topic[] = [];
  for (const topic of topics) {
    const detail = await get<Topic>(`/topics/${topic.id}`);
    Object.assign(topic, detail);
    const isDone = ['completed', 'dismissed'].includes(topic.lifecycleState ?? '');
    if (detail && !isDone && topic.archivedAt === null && (topic.graphStatus ?? 'active') === 'active')
      open.push(topic);
    groupsOf.set(
      topic.id,
      keep((await get<{ data: Conversation[] }>(`/topics/${topic.id}/groups`))?.data ?? []),
    );
    peopleOf.set(topic.id, (await get<{ data: Person[] }>(`/topics/${topic.id}/people`))?.data ?? []);
    histories.set(topic.id, (await get<{ history: Change[] }>(`/topics/${topic.id}/history`))?.history ?? []);
  }
  for (const { id } of companies) keep(await pages<Conversation>(`/groups?companyId=${id}`));
  const personOf = new Map<string, Person>();
  for (const person of people) {
    if (person.company === null) keep(await pages<Conversation>(`/groups?personId=${person.id}`));
    const found = await get<{ identities: { platform: string; platformId: string }[] }>(
      `/people/${person.id}/identities`,
    );
    for (const { platform, platformId } of found?.identities ?? [])
      personOf.set(`${platform}:${platformId}`, person);
  }
  const named = topics.flatMap(({ persons }) => persons);
  const companyOf = new Map(companies.map((one) => [one.id, one]));
  const isStaff = (id: string) =>
    named.some((one) => one.id === id && one.isStaff) ||
    companyOf.get(people.find((one) => one.id === id)?.company?.id ?? '')?.isOrgCompany === true;
  const bots = new Set(named.filter(({ isBot }) => isBot).map(({ id }) => id));
  const said = new Map(
    [...conversations].map(([id, { messages }]): [string, Said[]] => [
      id,
      messages
        .filter(({ deletedAt }) => deletedAt === null)
        .map((message) => {
          const { author, isInternal } = message;
          const person = author ? personOf.get(`${author.sourceName}:${author.sourceAuthorId}`) : undefined;
          const isBot = author?.isBot || (person !== undefined && bots.has(person.id));
          const ours = isInternal || (person !== undefined && isStaff(person.id));
          const company = person?.company?.id ?? null;
          return {
            ...{ message, at: Date.parse(message.createdAt) },
            side: isBot ? 'bot' : ours ? 'staff' : 'external',
            ...{ person: person?.id ?? null, company },
            isVip: person?.isVip === true || companyOf.get(company ?? '')?.isVip === true,
          };
        }),
    ]),
  );
  const times = [
    ...topics.map(({ updatedAt }) => updatedAt),
    ...[...histories.values()].flat().map(({ changedAt }) => changedAt),
    ...[...conversations.values()].flatMap(({ messages }) => messages.map(({ createdAt }) => createdAt)),
  ].map((time) => Date.parse(time));
  return {
    ...{ topics, open, companies, histories, conversations, groupsOf, peopleOf, isStaff, said },
    isBot: (id) => bots.has(id),
    asOf: Math.max(...times),
  };
}

const day = 86_400_000;
const median = (numbers: readonly number[]) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2
    ? (sorted[Math.floor(middle)] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};
/** How many of each, in the order of the names. */
function counts(names: readonly string[]): [string, number][] {
  const all = new Map<string, number>();
  for (const name of names) all.set(name, (all.get(name) ?? 0) + 1);
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1));
}
const monday = (at: number) => {
  const start = Math.floor(at / day) * day;
  const weekday = (new Date(start).getUTCDay() + 6) % 7;
  return new Date(start - weekday * day).toISOString().slice(0, 10);
};

/** What both sides see of a conversation, in the order in which it was said. */
const heard = (group: string) =>
  (org.said.get(group) ?? [])
    .filter(({ side, message }) => side !== 'bot' && !message.isInternal)
    .map((one, place) => ({ ...one, place }))
    .sort((a, b) => a.at - b.at || a.place - b.place);

interface Turn {
  group: string;
  side: string;
  from: Said;
  number: number;
  answeredAt: number | null;
}
function turns(): Turn[] {
  return [...org.conversations.keys()].flatMap((group) => {
    const all: Turn[] = [];
    for (const one of heard(group)) {
      const last = all.at(-1);
      if (last?.side === one.side) continue;
      if (last) last.answeredAt = one.at;
      all.push({ group, side: one.side, from: one, number: all.length + 1, answeredAt: null });
    }
    return all;
  });
}
const questions = () => turns().filter(({ side }) => side === 'external');

/** Questions that nobody has answered yet, where somebody should. */
const waiting = () =>
  questions().filter(
    ({ answeredAt, group }) => answeredAt === null && org.conversations.get(group)?.group.archivedAt === null,
  );

/** Conversations that nobody of us has answered, where somebody should. */
const neverAnswered = () =>
  [...org.conversations].flatMap(([id, { group }]) => {
    const said = heard(id);
    const first = said.findIndex(({ side }) => side === 'external');
    const isAnswered = said.slice(first).some(({ side }) => side === 'staff');
    return first >= 0 && !isAnswered && group.archivedAt === null ? [id] : [];
  });

const senderOf = ({ person, message }: Said) => person ?? message.author?.id;
const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);

/** What people of a company wrote in the last 28 days, in the 28 before, and ever, and what that means. */
function writtenBy(id: string) {
  const isTheirs = ({ side, company }: Said) => side === 'external' && company === id;
  const all = [...org.said.values()].flat().filter(isTheirs);
  const ages = all.map(({ at }) => (org.asOf - at) / day);
  const now = ages.filter((age) => age < 28).length;
  const before = ages.filter((age) => age >= 28 && age < 56).length;
  const change = now >= before * 1.5 ? 'growing' : now * 1.5 <= before ? 'fading' : 'steady';
  return {
    ...{ now, before, ever: all.length, trend: now === 0 ? 'silent' : before === 0 ? 'new' : change },
    ...{ people: new Set(all.map(senderOf)).size, groups: groupsWith(isTheirs) },
    silent: ages.length === 0 ? null : Math.round(Math.min(...ages) * 1440),
  };
}
const groupsWith = (holds: (one: Said) => boolean) =>
  [...org.said].flatMap(([group, said]) => (said.some(holds) ? [group] : []));

/** Open topics in which people of a company take part. */
const concerning = (id: string) =>
  org.open.filter((topic) =>
    (org.peopleOf.get(topic.id) ?? []).some(
      (one) => one.company?.id === id && !org.isStaff(one.id) && !org.isBot(one.id),
    ),
  );

describe('the backlog', () => {
  test('how many topics are open, by priority?', async () => {
    const rows = await ask<{ p: string; n: number }>(
      'SELECT priority AS p, count(*)::INTEGER AS n FROM backlog GROUP BY 1 ORDER BY 1',
    );
    expect(rows.map(({ p, n }) => [p, n])).toEqual(counts(org.open.map(({ priority }) => priority)));
  });

  test('whom does each one affect?', async () => {
    const rows = await ask<{ id: string; people: number; companies: number }>(
      'SELECT topic_id AS id, people::INTEGER AS people, companies::INTEGER AS companies FROM backlog ORDER BY 1',
    );
    const expected = org.open.map(({ id, persons }) => {
      const bots = new Set(persons.filter(({ isBot }) => isBot).map((one) => one.id));
      const outside = (org.peopleOf.get(id) ?? []).filter((one) => !bots.has(one.id) && !org.isStaff(one.id));
      const companies = new Set(outside.flatMap(({ company }) => company?.id ?? []));
      return { id, people: outside.length, companies: companies.size };
    });
    expect(rows).toEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)));
  });

  test('what is growing?', async () => {
    const within = (at: number, from: number, to: number) =>
      at > org.asOf - from * day && at <= org.asOf - to * day;
    const expected = org.open.map(({ id }) => {
      const outside = (org.groupsOf.get(id) ?? [])
        .flatMap((group) => org.said.get(group) ?? [])
        .filter(({ side }) => side === 'external');
      const now = outside.filter(({ at }) => within(at, 7, 0)).length;
      return [id, now, now - outside.filter(({ at }) => within(at, 14, 7)).length];
    });
    const rows = await ask<{ id: string; n: number; m: number }>(
      'SELECT topic_id AS id, messages_last_7_days::INTEGER AS n, momentum::INTEGER AS m FROM backlog',
    );
    expect(rows.map(({ id, n, m }) => [id, n, m]).sort()).toEqual(expected.sort());
  });

  test('how many topics were in which state 60 days ago?', async () => {
    const at = org.asOf - 60 * day;
    const states = org.topics.flatMap(({ id, createdAt, lifecycleState }) => {
      const moves = (org.histories.get(id) ?? [])
        .filter(({ changes }) => changes.lifecycleState !== undefined)
        .sort((a, b) => Date.parse(a.changedAt) - Date.parse(b.changedAt));
      if (Date.parse(createdAt) > at) return [];
      const before = moves.findLast((one) => Date.parse(one.changedAt) <= at);
      const after = moves.find((one) => Date.parse(one.changedAt) > at);
      const state = before
        ? before.changes.lifecycleState
        : after
          ? after.previousValues?.lifecycleState
          : lifecycleState;
      return [String(state ?? 'none')];
    });
    const ids = org.topics.map(({ id }) => `'${id}'`).join(', ');
    const rows = await ask<{ s: string; n: number }>(
      `SELECT coalesce(lifecycle_state, 'none') AS s, count(*)::INTEGER AS n
         FROM topic_as_of(make_timestamptz(${at * 1000})) WHERE topic_id IN (${ids}) GROUP BY 1 ORDER BY 1`,
    );
    expect(rows.map(({ s, n }) => [s, n])).toEqual(counts(states));
  });

  test('which topics matter to the company that writes most?', async () => {
    const written = counts(
      [...org.said.values()].flat().flatMap(({ side, company }) => (side === 'external' && company) || []),
    );
    const [company = ''] = written.sort(([, a], [, b]) => b - a)[0] ?? [];
    const expected = org.topics
      .map(
        ({ id }) =>
          [id, (org.peopleOf.get(id) ?? []).filter((one) => one.company?.id === company).length] as const,
      )
      .filter(([, people]) => people > 0);
    const rows = await ask<{ id: string; n: number }>(
      `SELECT topic_id AS id, people::INTEGER AS n FROM company_topics WHERE company_id = '${company}' AND people > 0`,
    );
    expect(rows.map(({ id, n }) => [id, n]).sort()).toEqual(expected.map((one) => [...one]).sort());
  });
});

describe('replies', () => {
  test('who waits for one, and for how long?', async () => {
    const rows = await ask<{ id: string; h: number }>(
      'SELECT group_id AS id, round(waiting_hours * 60) AS h FROM awaiting_reply',
    );
    expect(rows.map(({ id, h }) => [id, h]).sort()).toEqual(
      waiting()
        .map(({ group, from }) => [group, Math.round((org.asOf - from.at) / 60_000)])
        .sort(),
    );
  });

  test('who never got one?', async () => {
    const rows = await ask<{ id: string }>('SELECT group_id AS id FROM unanswered_groups');
    expect(rows.map(({ id }) => id).sort()).toEqual(neverAnswered().sort());
  });

  test('how fast are they, by month and source?', async () => {
    const groups = new Map<string, Turn[]>();
    for (const one of questions()) {
      const name = `${one.from.message.createdAt.slice(0, 7)} ${one.from.message.sourceName}`;
      groups.set(name, [...(groups.get(name) ?? []), one]);
    }
    const expected = [...groups].map(([name, all]) => {
      const hours = all.flatMap(({ answeredAt, from }) =>
        answeredAt === null ? [] : [(answeredAt - from.at) / 3_600_000],
      );
      return [name, all.length, hours.length, hours.length === 0 ? null : Math.round(median(hours) * 1_000)];
    });
    const rows = await ask<{ name: string; q: number; a: number; m: number | null }>(
      `SELECT strftime(began_at AT TIME ZONE 'UTC', '%Y-%m') || ' ' || source_name AS name, count(*)::INTEGER AS q,
              count(answered_at)::INTEGER AS a, round(median(hours_to_answer) * 1000) AS m
         FROM conversation_turns WHERE side = 'external' GROUP BY 1`,
    );
    expect(rows.map(({ name, q, a, m }) => [name, q, a, m]).sort()).toEqual(expected.sort());
  });

  test('which were later than we promise?', async () => {
    /** Working hours are 9 to 17 from Monday to Friday, in UTC. */
    const worked = (from: number, to: number) => {
      let all = 0;
      for (let start = Math.floor(from / day) * day; start < to; start += day) {
        if ([0, 6].includes(new Date(start).getUTCDay())) continue;
        const [opens, closes] = [start + 9 * 3_600_000, start + 17 * 3_600_000];
        all += Math.max(0, Math.min(to, closes) - Math.max(from, opens));
      }
      return all / 3_600_000;
    };
    const late = questions().flatMap(({ group, number, from, answeredAt }) => {
      if (answeredAt === null && org.conversations.get(group)?.group.archivedAt !== null) return [];
      const hours = worked(from.at, answeredAt ?? org.asOf);
      return hours > (number <= 2 ? 6 : 9) ? [[group, number, Math.round(hours * 60)]] : [];
    });
    const rows = await ask<{ id: string; t: number; h: number }>(
      'SELECT turns.group_id AS id, turn::INTEGER AS t, round(hours_waited * 60) AS h FROM service_level_turns AS turns WHERE is_breached',
    );
    expect(late.length).toBeGreaterThan(5);
    expect(rows.map(({ id, t, h }) => [id, t, h]).sort()).toEqual(late.sort());
    expect(await ask('SELECT count(*)::INTEGER AS n FROM service_level_breaches')).toEqual([
      { n: late.length },
    ]);
  });

  test('who of us helps in most conversations?', async () => {
    const answers = [...org.conversations.keys()].flatMap((group) => {
      const said = heard(group);
      const from = said.findIndex(({ side }) => side === 'external');
      const asker = said[from];
      if (!asker) return [];
      const others = said.slice(from).filter((one) => senderOf(one) !== senderOf(asker));
      return others.map((one, place) => ({
        ...{ ...one, group, asker: senderOf(asker) },
        minutes: place === 0 ? [(one.at - asker.at) / 60_000] : [],
      }));
    });
    const expected = [...new Set(answers.flatMap(({ person }) => person ?? []))].map((id) => {
      const own = answers.filter(({ person }) => person === id);
      const minutes = own.flatMap((one) => one.minutes);
      const thanks = own.flatMap(({ message }) => message.reactions.map(({ count }) => count));
      return {
        ...{ id, groups: new Set(own.map(({ group }) => group)).size, answers: own.length },
        ...{ people: new Set(own.map(({ asker }) => asker)).size, first: minutes.length },
        minutes: minutes.length === 0 ? null : Math.round(median(minutes) * 1_000),
        thanks: thanks.reduce((sum, one) => sum + one, 0),
        last: Math.max(...own.map(({ at }) => at)),
      };
    });
    const rows = await ask(
      `SELECT person_id AS id, conversations_helped::INTEGER AS groups, answers::INTEGER AS answers, people_helped::INTEGER AS people,
              first_answers::INTEGER AS first, round(median_minutes_to_first_answer * 1000) AS minutes,
              reactions::INTEGER AS thanks, epoch_ms(last_helped_at) AS last FROM top_helpers ORDER BY 1`,
    );
    expect(rows).toEqual(expected.sort(byId));
  });
});

describe('companies and sources', () => {
  test('which companies write less than before?', async () => {
    const theirs = org.companies.filter(({ isOrgCompany }) => !isOrgCompany);
    const expected = theirs.map(({ id, isVip }) => {
      const { groups, ...written } = writtenBy(id);
      const open = concerning(id);
      const replies = groups
        .flatMap((group) => org.said.get(group) ?? [])
        .filter(({ side, message }) => side === 'staff' && !message.isInternal);
      return {
        ...{ id, vip: isVip, ...written, open: open.length },
        urgent: open.filter(({ priority }) => /high$/.test(priority)).length,
        never: neverAnswered().filter((group) => groups.includes(group)).length,
        replied: replies.length === 0 ? null : Math.max(...replies.map(({ at }) => at)),
      };
    });
    const rows = await ask(
      `SELECT company_id AS id, is_vip AS vip, trend, messages_last_28_days::INTEGER AS now, messages_28_days_before::INTEGER AS before,
              messages::INTEGER AS ever, people_who_wrote::INTEGER AS people, round(days_silent * 1440) AS silent,
              open_topics::INTEGER AS open, urgent_topics::INTEGER AS urgent, unanswered_groups::INTEGER AS never,
              epoch_ms(last_staff_reply_at) AS replied FROM company_health ORDER BY 1`,
    );
    expect(rows).toEqual(expected.sort(byId));
  });

  test('which of them may we lose?', async () => {
    const expected = org.companies.flatMap(({ id, isOrgCompany, isVip }) => {
      if (isOrgCompany) return [];
      const { trend, ever } = writtenBy(id);
      // Who wrote last decides whose conversation it is.
      const waits = waiting().filter(({ group }) => heard(group).at(-1)?.company === id);
      const hours = waits.map(({ from }) => Math.round((org.asOf - from.at) / 60_000));
      const isLeaving = ever > 0 && ['fading', 'silent'].includes(trend);
      const isConcerned = concerning(id).length > 0 || waits.length > 0;
      const reason = isLeaving && isConcerned ? trend : isVip && waits.length > 0 ? 'vip_waits' : null;
      const longest = hours.length === 0 ? null : Math.max(...hours);
      return reason === null ? [] : { id, reason, waits: waits.length, longest };
    });
    const rows = await ask(
      `SELECT company_id AS id, reason, waiting_conversations::INTEGER AS waits, round(longest_wait_hours * 60) AS longest
         FROM companies_at_risk ORDER BY 1`,
    );
    expect(rows).toEqual(expected.sort(byId));
  });

  test('where do people write, week by week?', async () => {
    const written = [...org.said.values()]
      .flat()
      .filter(({ side }) => side === 'external')
      .map(({ at, message }) => `${monday(at)} ${message.sourceName}`);
    const ofWeek = new Map(counts(written.map((name) => name.slice(0, 10))));
    const rows = await ask<{ name: string; n: number; share: number }>(
      "SELECT week::VARCHAR || ' ' || source_name AS name, messages::INTEGER AS n, share FROM source_mix ORDER BY 1",
    );
    expect(rows.map(({ name, n, share }) => [name, n, share])).toEqual(
      counts(written).map(([name, n]) => [name, n, n / (ofWeek.get(name.slice(0, 10)) ?? 0)]),
    );
  });
});

describe('decisions and words', () => {
  test('who changed priorities, and how often?', async () => {
    const changed = [...org.histories.values()]
      .flat()
      .filter(({ changes, operation }) => changes.priority !== undefined && operation === 'UPDATE')
      .map(({ changedBy }) => changedBy);
    const rows = await ask<{ by: string; n: number }>(
      'SELECT changed_by AS by, count(*)::INTEGER AS n FROM priority_transitions WHERE NOT is_first GROUP BY 1 ORDER BY 1',
    );
    expect(rows.map(({ by, n }) => [by, n])).toEqual(counts(changed));
  });

  test('who wrote about something?', async () => {
    const all = [...org.conversations.values()].flatMap(({ messages }) => messages);
    const wordsOf = ({ title, content, deletedAt }: Message) =>
      deletedAt === null ? `${title ?? ''} ${content ?? ''}`.toLowerCase().split(/[^\p{L}\p{N}]+/u) : [];
    const frequent = counts(
      all.flatMap((one) => [...new Set(wordsOf(one))].filter((word) => word.length > 5)),
    )
      .sort(([, a], [, b]) => b - a)
      .slice(0, 30)
      .map(([word]) => word);
    const having = (word: string) => all.filter((message) => wordsOf(message).includes(word));
    // Two words of which some messages have both.
    const pairs = frequent.flatMap((one) => frequent.map((other) => [one, other] as const));
    const [one = '', other = ''] =
      pairs.find(([a, b]) => {
        const both = having(a).filter((message) => wordsOf(message).includes(b)).length;
        return both > 0 && both < having(a).length;
      }) ?? [];
    const ids = having(one).filter((message) => !wordsOf(message).includes(other));
    const rows = await ask<{ id: string }>(
      `SELECT message_id AS id FROM message_search('${one} NOT ${other}')`,
    );
    expect(ids.length).toBeGreaterThan(0);
    expect(rows.map(({ id }) => id).sort()).toEqual(ids.map(({ id }) => id).sort());
  });
});
