import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/api/attempt.js';
import { PagingMemory } from '../../../src/api/page.js';
import type { AnyRequest } from '../../../src/api/request.js';
import { arrivalNow } from '../../../src/base/clock.js';
import { silentLog } from '../../../src/base/log.js';
import { endpoints } from '../../../src/contract/endpoints.js';
import { resources } from '../../../src/contract/resources.js';
import { batchOf, type Document } from '../../../src/load/batch.js';
import { Batcher } from '../../../src/load/batcher.js';
import { storedCounters } from '../../../src/load/known.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import type { Context } from '../../../src/sync/context.js';
import { fetchChild } from '../../../src/sync/fetch-child.js';
import { SchemaDrift } from '../../../src/sync/staging/schema-drift.js';
import { SeenContent } from '../../../src/sync/staging/seen-content.js';
import { keyOf, type Task } from '../../../src/sync/task.js';
import { loadBatch } from '../../support/load-batch.js';
import { open } from '../../support/open-warehouse.js';
import { propertyRuns } from '../../support/runs.js';
import { dueIn } from './due-support.js';

const pageSize = 5;
const start = Date.UTC(2026, 0, 1);
const minutes = (count: number) => new Date(start + count * 60_000).toISOString();
const orders = ['end', 'own end', 'start', 'id', 'random'] as const;
type Order = (typeof orders)[number];

interface StoredMessage {
  readonly id: string;
  readonly author: 'own' | 'other';
  readonly minute: number;
  content: string;
}

/** A company or person with its conversations, served page by page in one order. */
class Conversations {
  readonly groups: { id: string; messages: StoredMessage[] }[] = [];
  /** Total first, then whatever a test makes of it. */
  totalOf = (count: number, _request: number): number | null => count;
  requests = 0;
  #made = 0;

  constructor(
    readonly id: string,
    readonly order: Order,
    /** Whose messages the company counts: its people's, or all in its conversations. */
    readonly counts: 'own' | 'all',
  ) {}

  start(minute: number, author: StoredMessage['author'] = 'own'): void {
    this.groups.push({ id: `${this.id}-g${this.groups.length}`, messages: [] });
    this.write(this.groups.length - 1, minute, 'own');
    if (author === 'other') this.write(this.groups.length - 1, minute, 'other');
  }

  write(group: number, minute: number, author: StoredMessage['author']): void {
    this.#made += 1;
    this.groups[group]?.messages.push({ id: `${this.id}-m${this.#made}`, author, minute, content: 'x' });
  }

  /** Every message that this order of counting promises to find. */
  get promised(): string[] {
    return this.groups
      .flatMap(({ messages }) => messages)
      .filter(({ author }) => this.counts === 'all' || author === 'own')
      .map(({ id }) => id);
  }

  get item(): object {
    const counted = this.groups
      .flatMap(({ messages }) => messages)
      .filter(({ author }) => this.counts === 'all' || author === 'own');
    return {
      messageCount: counted.length,
      lastSeenAt: minutes(Math.max(...counted.map(({ minute }) => minute))),
      personCount: 1,
    };
  }

  page(query: Record<string, unknown>): unknown {
    this.requests += 1;
    const page = Number(query.page ?? 0);
    const place = ({ id, messages }: (typeof this.groups)[number]): number | string => {
      const times = messages.map(({ minute }) => minute);
      const own = messages.flatMap(({ author, minute }) => (author === 'own' ? minute : []));
      if (this.order === 'end') return -Math.max(...times);
      if (this.order === 'own end') return -Math.max(...own);
      if (this.order === 'start') return -Math.min(...times);
      return this.order === 'id' ? id : Number.parseInt(id.slice(-3).replace(/\D/g, ''), 10) % 7;
    };
    const sorted = this.groups.toSorted((a, b) => {
      const [one, other] = [place(a), place(b)];
      return one < other ? -1 : one > other ? 1 : 0;
    });
    const data = sorted.slice(page * pageSize, (page + 1) * pageSize).map(({ id, messages }) => {
      const times = messages.map(({ minute }) => minute);
      return {
        group: {
          id,
          startTimestamp: minutes(Math.min(...times)),
          endTimestamp: minutes(Math.max(...times)),
          archivedAt: null,
        },
        messages: messages.map((message) => this.#json(message)),
        topic: null,
      };
    });
    const totalCount = this.totalOf(this.groups.length, this.requests);
    return { data, page, limit: pageSize, ...(totalCount !== null && { totalCount }) };
  }

  #json({ id, author, minute, content }: StoredMessage): object {
    return {
      id,
      content,
      createdAt: minutes(minute),
      deletedAt: null,
      editedAt: null,
      isInternal: false,
      metadata: null,
      replyToId: null,
      threadId: null,
      sourceMessageId: id,
      sourceMessageType: 'message',
      sourceName: 'chat',
      sourceReplyToId: null,
      sourceThreadId: null,
      sourceUrl: null,
      title: null,
      author: {
        id: `${this.id}-${author}`,
        displayName: author,
        isBot: false,
        sourceAvatarUrl: null,
        sourceAuthorId: `${this.id}-${author}`,
        sourceName: 'chat',
      },
      reactions: [],
    };
  }
}

let warehouse: Warehouse;
let now = Date.UTC(2026, 5, 1);
let made = 0;
beforeAll(async () => {
  warehouse = await open();
});
afterAll(() => warehouse.close());

const child = resources.children.find(({ name }) => name === 'company_groups')!;
const settings = {
  rateLimit: { requests: 120, windowMs: 60_000 },
  sync: { recheck: 100, personGroups: 'all' },
};

interface Ran {
  readonly context: Context;
  readonly task: Task | undefined;
  readonly requests: number;
}

const run = async (list: Conversations): Promise<Ran> => (await runAll([list]))[0]!;

/** What a run does for companies: their list items are stored, and their conversations are fetched when they are due. */
async function runAll(lists: readonly Conversations[]): Promise<Ran[]> {
  now += 3_600_000;
  made += 1;
  const runId = `run-${made}`;
  const setUp = arrivalNow({ now: () => now });
  const document = (
    endpoint: string,
    id: string,
    body: object,
    parentId: string | null = null,
  ): Document => ({
    endpoint,
    id,
    parentId,
    fetchedAt: setUp.at,
    answerNo: setUp.no,
    body: JSON.stringify({ id, ...body }),
  });
  const documents = lists.flatMap(({ id, item }) => {
    const identity = { platform: 'chat', platformId: `${id}-own` };
    return [
      document('companies', id, item),
      document('person', `${id}-p`, { company: { id } }),
      document('people', `${id}-p`, { company: { id } }),
      document('person_identities', `chat:${id}-own`, identity, `${id}-p`),
    ];
  });
  await loadBatch(warehouse, batchOf(runId, { documents }));
  await warehouse.refreshDerived();
  const call = async (_: string, request?: AnyRequest): Promise<Answer> => {
    now += 1000;
    const list = lists.find(({ id }) => id === request?.query?.companyId);
    const body = list?.page(request?.query ?? {});
    return { body, status: 200, arrivedAt: arrivalNow({ now: () => now }), bytes: 0 };
  };
  const limits = { megabytes: 100, answers: 1000, seconds: 3600 };
  const context = {
    runId,
    config: settings,
    resources,
    api: {
      call,
      concurrency: 1,
      contract: endpoints,
      paging: new PagingMemory({ pageParameter: 'page', limitParameter: 'limit', pageSize }),
    },
    store: warehouse,
    batcher: new Batcher({
      runId,
      limits,
      append: (batch) => warehouse.append(batch),
      merge: async () => void (await warehouse.merge()),
    }),
    log: silentLog,
    clock: { now: () => now },
    stop: new AbortController().signal,
    failures: [],
    notes: [],
    shortHistories: new Set(),
    doubts: new Map(),
    heldBack: new Map(),
    lost: new Map(),
    gone: null,
    unsettledConversations: new Set(),
    schemaDrift: new SchemaDrift(),
    seenContent: new SeenContent(),
  } as unknown as Context;
  const { tasks } = await dueIn(warehouse, [child], settings as never, new Date(now));
  const counters = await storedCounters(warehouse, tasks.map(keyOf));
  const ran: Ran[] = [];
  for (const list of lists) {
    const found = tasks.find(({ entityId }) => entityId === list.id);
    const task = found && { ...found, storedCounters: counters.get(keyOf(found)) ?? null };
    const before = list.requests;
    if (task) expect(await fetchChild(context, task)).toBe('fetched');
    ran.push({ context, task, requests: list.requests - before });
  }
  await context.batcher.flush();
  expect(context.failures).toEqual([]);
  return ran;
}

async function storedMessages(list: Conversations): Promise<Set<string>> {
  const rows = await warehouse.all<{ id: string }>('SELECT id FROM messages WHERE starts_with(id, $prefix)', {
    prefix: `${list.id}-`,
  });
  return new Set(rows.map(({ id }) => id));
}

async function missingFrom(list: Conversations): Promise<string[]> {
  const stored = await storedMessages(list);
  return list.promised.filter((id) => !stored.has(id));
}

function listOf(count: number, order: Order, counts: 'own' | 'all' = 'own'): Conversations {
  made += 1;
  const list = new Conversations(`c${made}`, order, counts);
  for (let index = 0; index < count; index += 1) list.start(index * 10, index % 3 === 0 ? 'other' : 'own');
  return list;
}

type Change = { kind: 'reply' | 'late' | 'edit' | 'remove' | 'start'; at: number; author: 'own' | 'other' };
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('reply', 'reply', 'late', 'edit', 'remove', 'start'),
  at: fc.nat(999),
  author: fc.constantFrom('own', 'other'),
});

/** Applies changes; returns how many messages were taken back. */
function apply(list: Conversations, changes: readonly Change[]): number {
  let removed = 0;
  for (const [index, { kind, at, author }] of changes.entries()) {
    const position = at % list.groups.length;
    const { messages } = list.groups[position]!;
    if (kind === 'reply') list.write(position, 10_000 + index, author);
    // A message of long ago that comes only now, such as an import.
    else if (kind === 'late') list.write(position, at % 100, author);
    else if (kind === 'start') list.start(10_000 + index, author);
    else if (kind === 'edit') messages.at(-1)!.content += ' edited';
    else if (messages.filter((message) => message.author === 'own').length > 1) {
      const last = messages.findLastIndex((message) => message.author === 'own');
      messages.splice(last, 1);
      removed += 1;
    }
  }
  return removed;
}

describe('conversations that were fetched before', () => {
  test('in any order, after any change, the second run has every message that is counted', async () => {
    let early = 0;
    const most = propertyRuns(8, 30);
    const one = fc.record({
      count: fc.integer({ min: 1, max: 24 }),
      order: fc.constantFrom(...orders),
      counts: fc.constantFrom<'own' | 'all'>('own', 'all'),
      changes: fc.array(change, { minLength: 1, maxLength: 4 }),
    });
    // One that surely ends early: of so few random lists, sometimes none does.
    const certain = {
      ...({ count: 24, order: 'end', counts: 'own' } as const),
      changes: [{ kind: 'reply', at: 3, author: 'own' }],
    } as const;
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: most, maxLength: most }), async (random) => {
        const cases = [certain, ...random];
        const lists = cases.map(({ count, order, counts }) => listOf(count, order, counts));
        await runAll(lists);
        for (const list of lists) expect(await missingFrom(list)).toEqual([]);
        const removed = lists.map((list, index) => apply(list, cases[index]!.changes));
        const ran = await runAll(lists);
        for (const [index, list] of lists.entries()) {
          const { task, requests } = ran[index]!;
          if (!task) continue;
          if (requests < Math.ceil(list.groups.length / pageSize)) early += 1;
          // Counters cannot tell as many that came from as many that were taken back: that waits for the sweep.
          expect((await missingFrom(list)).length).toBeLessThanOrEqual(removed[index]!);
        }
      }),
      { numRuns: propertyRuns(1, 40), endOnFailure: true },
    );
    expect(early).toBeGreaterThan(0);
  });

  test('listed newest first, as many pages are read as hold news; in another order, all', async () => {
    const newest = [listOf(40, 'end'), listOf(40, 'own end')];
    const other = listOf(40, 'id');
    const lists = [...newest, other];
    const requests = async () => (await runAll(lists)).map((ran) => ran.requests);
    // Eight pages, and one more, since the last one is full.
    expect(await requests()).toEqual([9, 9, 9]);
    const oldest = other.groups.findIndex(({ id }) => {
      const last = other.page({ page: 7 }) as { data: { group: { id: string } }[] };
      return last.data.some(({ group }) => group.id === id);
    });
    for (const list of newest) list.write(3, 10_000, 'own');
    other.write(oldest, 10_000, 'own');
    expect(await requests()).toEqual([2, 2, 9]);
    // The counters of an early end are those that the next fetch starts from.
    for (const list of newest) list.write(4, 10_001, 'own');
    expect(await requests()).toEqual([2, 2, 0]);
    for (const list of lists) expect(await missingFrom(list)).toEqual([]);
  });

  test('without stored counters the list is read to its end', async () => {
    const list = listOf(40, 'end');
    await run(list);
    await warehouse.run('UPDATE ops.coverage SET counters = NULL');
    list.write(3, 10_000, 'own');
    expect((await run(list)).requests).toBe(9);
  });

  test('a list whose total never agrees is stored, noted, and read whole in the next run', async () => {
    const list = listOf(12, 'end');
    list.totalOf = (count, request) => count + request;
    const { context } = await run(list);
    expect([...context.unsettledConversations]).toEqual([`company_groups ${list.id}`]);
    expect(await missingFrom(list)).toEqual([]);
    list.totalOf = (count) => count;
    expect((await run(list)).requests).toBe(3);
    expect((await run(list)).task).toBeUndefined();
  });

  test('a list without a total takes two readings that agree', async () => {
    const list = listOf(12, 'end');
    list.totalOf = () => null;
    const { context, requests } = await run(list);
    // Three pages, and one more that has nothing; twice.
    expect(requests).toBe(8);
    expect(context.unsettledConversations.size).toBe(0);
    expect(await missingFrom(list)).toEqual([]);
  });
});
