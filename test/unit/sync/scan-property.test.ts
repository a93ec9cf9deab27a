import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/api/attempt.js';
import { PagingMemory } from '../../../src/api/page.js';
import type { AnyRequest } from '../../../src/api/request.js';
import { arrivalNow, systemClock } from '../../../src/base/clock.js';
import { RejectedError } from '../../../src/base/errors.js';
import { silentLog } from '../../../src/base/log.js';
import { endpoints } from '../../../src/contract/endpoints.js';
import { resources } from '../../../src/contract/resources.js';
import { migratedReason } from '../../../src/contract/topics.js';
import type { Batch } from '../../../src/load/batch.js';
import { Batcher } from '../../../src/load/batcher.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { Known } from '../../../src/run/known.js';
import type { Context } from '../../../src/sync/context.js';
import { fetchChild } from '../../../src/sync/fetch-child.js';
import { readLists } from '../../../src/sync/lists.js';
import type { ScanReport } from '../../../src/sync/report.js';
import { readList } from '../../../src/sync/scan.js';
import { ListedItems } from '../../../src/sync/staging/listed.js';
import { SeenContent } from '../../../src/sync/staging/seen-content.js';
import type { Task } from '../../../src/sync/task.js';
import { empty, oneWarehouse } from '../../support/open-warehouse.js';
import { propertyRuns } from '../../support/runs.js';

type Kind = 'insert' | 'remove' | 'hide' | 'show' | 'move';
/** One change of a list: where from and where to, as shares of its length. */
interface Step {
  readonly kind: Kind;
  readonly from: number;
  readonly to: number;
}
interface Paging {
  readonly base: 0 | 1;
  readonly size: number;
  /** Bare pages say neither a number nor a total. */
  readonly bare?: boolean;
}

/** A list whose server is this object: before a page that is not the first, it takes the next turn of its script. */
class ShiftingList {
  readonly listed: string[];
  readonly hidden: string[] = [];
  readonly removed = new Set<string>();
  /** Listed, and answered 404 by id for a reason of its own. */
  readonly migrated = new Set<string>();
  /** Listed, and answered 404 by id like what does not exist. */
  readonly unanswered = new Set<string>();
  /** Everything that was listed at any time since the last `look`, and what was listed all the time. */
  ever = new Set<string>();
  throughout = new Set<string>();
  /** Requests for one item by id. */
  asked = 0;
  #made = 0;
  #script: Iterator<readonly Step[]> = [][Symbol.iterator]();

  constructor(
    count: number,
    readonly paging: Paging,
  ) {
    this.listed = Array.from({ length: count }, () => this.#next());
    for (const [index, id] of this.listed.entries()) if (index % 7 === 3) this.migrated.add(id);
    this.look();
  }

  script(turns: readonly (readonly Step[])[]): void {
    this.#script = turns[Symbol.iterator]();
  }

  look(): void {
    this.ever = new Set(this.listed);
    this.throughout = new Set(this.listed);
  }

  page(query: Record<string, unknown>): unknown {
    const page = query.page === undefined ? this.paging.base : Number(query.page);
    if (page > this.paging.base) this.#turn();
    const { size, bare } = this.paging;
    const start = (page - this.paging.base) * size;
    const data = this.listed.slice(start, start + size).map((id) => ({ id }));
    if (bare) return data;
    return { data, page, limit: size, totalCount: this.listed.length };
  }

  /** What GET by id answers. */
  item(id: string): unknown {
    this.asked += 1;
    const isThere = this.listed.includes(id) || this.hidden.includes(id);
    if (isThere && !this.migrated.has(id) && !this.unanswered.has(id)) return { id };
    const where = { endpoint: 'topic', method: 'GET', path: `/topics/${id}` };
    const reason = this.migrated.has(id) ? migratedReason : undefined;
    throw new RejectedError('no', where, 404, 'NOT_FOUND', reason);
  }

  #turn(): void {
    for (const step of this.#script.next().value ?? []) this.#step(step);
    for (const id of this.listed) this.ever.add(id);
    const now = new Set(this.listed);
    for (const id of this.throughout) if (!now.has(id)) this.throughout.delete(id);
  }

  #step({ kind, from, to }: Step): void {
    if (kind === 'insert') {
      this.#put(this.#next(), to);
      return;
    }
    const source = kind === 'show' ? this.hidden : this.listed;
    const id = source[Math.floor(from * source.length)];
    // What is neither listed nor answered by id is gone by any measure.
    if (id === undefined || (kind === 'hide' && this.migrated.has(id))) return;
    source.splice(source.indexOf(id), 1);
    if (kind === 'remove') this.removed.add(id);
    else if (kind === 'hide') this.hidden.push(id);
    else this.#put(id, to);
  }

  #put(id: string, to: number): void {
    this.listed.splice(Math.round(to * this.listed.length), 0, id);
  }

  #next(): string {
    this.#made += 1;
    return `t${this.#made}`;
  }
}

const { lists, children } = resources;
const topics = lists.find(({ name }) => name === 'topics')!;

/** A context whose API is that list; what it brings is stored where there is a warehouse. */
function contextOf(
  list: ShiftingList,
  scanAttempts: number,
  warehouse?: Warehouse,
  now: () => number = () => Date.now(),
): Context {
  const call = async (name: string, request?: AnyRequest): Promise<Answer> => {
    const body =
      name === 'topics' ? list.page(request?.query ?? {}) : list.item(String(request?.params?.topicId));
    return { body, status: 200, arrivedAt: arrivalNow({ now }), bytes: 0 };
  };
  const known = new Known(resources);
  const append = async (batch: Batch) => warehouse?.append(batch);
  const merge = async () => {
    const merged = await warehouse?.merge();
    if (merged) known.apply(merged.known);
  };
  const limits = { megabytes: 100, answers: 1000, seconds: 3600 };
  return {
    config: { sync: { recheck: 1 / 14, deletes: { maxShare: 1, maxRows: 1e9 } } },
    scanAttempts,
    resources,
    known,
    runId: 'r',
    api: {
      call,
      concurrency: 1,
      contract: endpoints,
      paging: new PagingMemory({ pageParameter: 'page', limitParameter: 'limit', pageSize: 100 }),
    },
    store: warehouse,
    batcher: new Batcher({ runId: 'r', limits, append, merge }),
    log: silentLog,
    clock: { ...systemClock, now },
    observer: { phase() {}, progress() {}, phaseEnd() {}, note() {} },
    stop: new AbortController().signal,
    acceptDeletes: true,
    failures: [],
    listed: new ListedItems(known),
    seenContent: new SeenContent(),
    shortHistories: new Set(),
    doubts: new Map(),
    heldBack: new Map(),
    lost: new Map(),
    gone: null,
    notes: [],
  } as unknown as Context;
}

const share = fc.integer({ min: 0, max: 999 }).map((thousandths) => thousandths / 1000);
const stepOf = (kinds: readonly Kind[]) =>
  fc.record({ kind: fc.constantFrom(...kinds), from: share, to: share });
const turnsOf = (kinds: readonly Kind[], maxLength: number) =>
  fc.array(fc.array(stepOf(kinds), { maxLength: 3 }), { maxLength });
/** Turns after which a list is as long as before: as much comes as goes. */
const balancedTurns = fc.array(
  fc
    .array(
      fc.oneof(
        fc.tuple(stepOf(['remove']), stepOf(['insert'])),
        fc.tuple(stepOf(['hide']), stepOf(['show'])),
        fc.tuple(stepOf(['move'])),
      ),
      { maxLength: 2 },
    )
    .map((pairs) => pairs.flat()),
  { maxLength: 8 },
);
const everything: readonly Kind[] = ['insert', 'remove', 'hide', 'show', 'move'];
/** Pages that hold more than arrives between two of them: otherwise a list has no end. */
const paging = fc.record({ base: fc.constantFrom<0 | 1>(0, 1), size: fc.integer({ min: 4, max: 12 }) });
const count = fc.integer({ min: 0, max: 60 });

describe('reading a list that shifts', () => {
  test('one that does not change verifies at once, with exactly its ids, whatever its pages', async () => {
    const anyPaging = fc.record({
      base: fc.constantFrom<0 | 1>(0, 1),
      size: fc.integer({ min: 1, max: 80 }),
    });
    await fc.assert(
      fc.asyncProperty(count, anyPaging, async (items, pages) => {
        const list = new ShiftingList(items, pages);
        const read = await readList(contextOf(list, 3), topics);
        expect(read).toMatchObject({ verified: true, attempts: 1, totalCount: items });
        expect([...read.ids].sort()).toEqual([...list.listed].sort());
      }),
      { numRuns: propertyRuns(15, 300) },
    );
  });

  // A total that went up and down again proves nothing; as long as it goes one way only, it does.
  test.each([
    ['grows', ['insert', 'move']],
    ['shrinks', ['remove', 'hide', 'move']],
    ['is only put in another order', ['move']],
  ] as const)('one that %s verifies only with exactly the ids present throughout', async (_, kinds) => {
    await fc.assert(
      fc.asyncProperty(count, paging, turnsOf(kinds, 12), async (items, pages, turns) => {
        const list = new ShiftingList(items, pages);
        list.script(turns);
        const read = await readList(contextOf(list, 1), topics);
        if (!read.verified) return;
        expect([...read.ids].sort()).toEqual([...list.throughout].sort());
        expect(list.throughout).toEqual(list.ever);
      }),
      { numRuns: propertyRuns(30, 600) },
    );
  });

  test('however it shifts, no id is returned that was never there, and as many as its total', async () => {
    await fc.assert(
      fc.asyncProperty(count, paging, turnsOf(everything, 12), async (items, pages, turns) => {
        const list = new ShiftingList(items, pages);
        list.script(turns);
        const read = await readList(contextOf(list, 1), topics);
        for (const id of read.ids) expect(list.ever).toContain(id);
        if (read.verified) expect(read.ids.size).toBe(read.totalCount);
        else expect(read.note).not.toBeNull();
      }),
      { numRuns: propertyRuns(30, 600) },
    );
  });

  test('it verifies once it stops changing', async () => {
    await fc.assert(
      fc.asyncProperty(count, paging, turnsOf(everything, 12), async (items, pages, turns) => {
        const list = new ShiftingList(items, pages);
        list.script(turns);
        // Every attempt that does not verify has used up a turn at least.
        const read = await readList(contextOf(list, turns.length + 1), topics);
        expect(read.verified).toBe(true);
      }),
      { numRuns: propertyRuns(20, 400) },
    );
  });
});

describe('reading a list without a total', () => {
  const still = fc.record({
    base: fc.constantFrom<0 | 1>(0, 1),
    size: fc.integer({ min: 1, max: 1000 }),
    bare: fc.constant(true),
  });

  test('no item is missing once it stops changing, whatever was read of it before', async () => {
    await fc.assert(
      fc.asyncProperty(count, still, turnsOf(everything, 12), async (items, pages, turns) => {
        const list = new ShiftingList(items, pages);
        list.script(turns);
        const context = contextOf(list, 3);
        const moving = await readList(context, topics);
        for (const id of moving.ids) expect(list.ever).toContain(id);
        expect(moving.verified || moving.note !== null).toBe(true);
        list.script([]);
        // The same client, so that nothing that it learned from the moving list may mislead it.
        const read = await readList(context, topics);
        expect(read.verified).toBe(true);
        expect([...read.ids].sort()).toEqual([...list.listed].sort());
      }),
      { numRuns: propertyRuns(30, 600) },
    );
  });

  test('one reading alone proves nothing', async () => {
    const list = new ShiftingList(30, { base: 1, size: 10, bare: true });
    const read = await readList(contextOf(list, 1), topics);
    expect(read).toMatchObject({ verified: false, items: 30, note: expect.stringContaining('has no total') });
  });
});

describe('settling what is missing from such a list', () => {
  let warehouse: Warehouse;
  oneWarehouse((made) => {
    warehouse = made;
  });

  /** Reads the list and settles it, as a run does. */
  async function run(list: ShiftingList, scanAttempts: number, now?: number): Promise<ScanReport> {
    const context = contextOf(list, scanAttempts, warehouse, now === undefined ? Date.now : () => now);
    context.known.apply(await warehouse.readKnown());
    const scans: ScanReport[] = [];
    await readLists(context, [topics], scans, { settles: true });
    await context.batcher.flush();
    expect(context.failures).toEqual([]);
    return scans[0]!;
  }

  async function topicsWhere(condition: string): Promise<string[]> {
    const rows = await warehouse.all<{ id: string }>(`SELECT id FROM topics WHERE ${condition}`);
    return rows.map(({ id }) => id).sort();
  }

  /** Before the second page the first item goes and another comes at the end: nobody sees the first of that page. */
  const accident: readonly (readonly Step[])[] = [
    [
      { kind: 'remove', from: 0, to: 0 },
      { kind: 'insert', from: 0, to: 1 },
    ],
  ];

  test('an item that is answered by id is unlisted, until it is listed again', async () => {
    const list = new ShiftingList(20, { base: 1, size: 5 });
    await run(list, 1);
    list.script(accident);
    expect(await run(list, 1)).toMatchObject({ verified: true, missing: 1, tombstoned: 0 });
    expect(await run(list, 1)).toMatchObject({ verified: true, missing: 1, tombstoned: 1, restored: 1 });
    expect(await topicsWhere('deleted_at IS NOT NULL')).toEqual(['t1']);
    // t6 when it was missing, t1 when it was: what is back needs no asking.
    expect(list.asked).toBe(2);
  });

  test('an unlisted item is fetched in each run of an hour, then less and less often', async () => {
    const list = new ShiftingList(20, { base: 1, size: 5 });
    await run(list, 1);
    list.hidden.push(...list.listed.splice(4, 1));
    const start = Date.now();
    const asked: number[] = [];
    for (const hours of [0, 0.9, 1.5, 2, 28, 51, 52]) {
      const before = list.asked;
      await run(list, 1, start + hours * 3_600_000);
      if (list.asked > before) asked.push(hours);
    }
    // Never later than the age that the sweep allows: a day, here.
    expect(asked).toEqual([0, 0.9, 2, 28, 52]);
    expect(await topicsWhere('deleted_at IS NOT NULL')).toEqual([]);
  });

  test('the 404 of an item that is listed as well proves nothing: it must be missing twice', async () => {
    const list = new ShiftingList(20, { base: 1, size: 10 });
    list.migrated.add('t11');
    await run(list, 1);
    list.script(accident);
    const scan = await run(list, 1);
    expect(scan).toMatchObject({ verified: true, missing: 1, tombstoned: 0, attempts: 2, pages: 4 });
    expect(await topicsWhere('deleted_at IS NOT NULL')).toEqual([]);

    list.listed.splice(list.listed.indexOf('t11'), 1);
    list.removed.add('t11');
    expect(await run(list, 1)).toMatchObject({ verified: true, missing: 2, tombstoned: 2, attempts: 2 });
    expect(await topicsWhere(`deleted_reason = '${migratedReason}'`)).toEqual(['t11']);
    expect(await topicsWhere('deleted_at IS NOT NULL')).toEqual(['t1', 't11']);
  });

  test('the same holds for a 404 without a reason that was answered while the item was listed', async () => {
    const list = new ShiftingList(20, { base: 1, size: 5 });
    list.unanswered.add('t6');
    await run(list, 1);
    const context = contextOf(list, 1, warehouse);
    const child = children.find(({ name }) => name === 'topic')!;
    const task = { child, entityId: 't6', reason: 'never', fingerprint: 'f' } as Task;
    expect(await fetchChild(context, task)).toBe('absent');
    await context.batcher.flush();
    list.script(accident);
    expect(await run(list, 1)).toMatchObject({ verified: true, missing: 1, tombstoned: 0, attempts: 2 });
    expect(await topicsWhere('deleted_at IS NOT NULL')).toEqual([]);
  });

  test('an item that is returned again loses its tombstone even when the list changed meanwhile', async () => {
    const list = new ShiftingList(20, { base: 0, size: 5 });
    await run(list, 1);
    list.listed.splice(list.listed.indexOf('t9'), 1);
    list.removed.add('t9');
    expect(await run(list, 1)).toMatchObject({ missing: 1, tombstoned: 1 });
    list.listed.unshift('t9');
    list.removed.delete('t9');
    list.script([[{ kind: 'insert', from: 0, to: 1 }]]);
    expect(await run(list, 1)).toMatchObject({ verified: false, restored: 1, tombstoned: 0 });
    expect(await topicsWhere('deleted_at IS NOT NULL')).toEqual([]);
  });

  test('a reading that verifies by accident tombstones nothing that exists, and the next one corrects the rest', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 12, max: 40 }),
        paging,
        balancedTurns,
        balancedTurns,
        async (items, pages, before, turns) => {
          const shifted = async () => {
            const list = new ShiftingList(items, pages);
            list.script(before);
            await readList(contextOf(list, 1), topics);
            list.script([]);
            list.look();
            return list;
          };
          const rehearsed = await shifted();
          rehearsed.script(turns);
          const rehearsal = await readList(contextOf(rehearsed, 1), topics);
          fc.pre(rehearsal.verified && [...rehearsed.throughout].some((id) => !rehearsal.ids.has(id)));

          await empty(warehouse);
          const list = await shifted();
          await run(list, 1);
          list.script(turns);
          const scan = await run(list, 1);
          expect(scan.missing).toBeGreaterThan(0);
          const deleted = await topicsWhere('deleted_at IS NOT NULL');
          expect(deleted.filter((id) => !list.removed.has(id))).toEqual([]);

          list.script([]);
          expect((await run(list, 1)).verified).toBe(true);
          const alive = await topicsWhere('deleted_at IS NULL');
          expect(alive.filter((id) => !list.hidden.includes(id))).toEqual([...list.listed].sort());
        },
      ),
      { numRuns: propertyRuns(1, 30), endOnFailure: true },
    );
  });
});
