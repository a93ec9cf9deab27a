import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/api/client.js';
import { PagingMemory } from '../../../src/api/page.js';
import type { AnyRequest } from '../../../src/api/request.js';
import { arrivalNow, systemClock } from '../../../src/base/clock.js';
import { silentLog } from '../../../src/base/log.js';
import { endpoints } from '../../../src/contract/endpoints.js';
import { resources } from '../../../src/contract/resources.js';
import type { Context } from '../../../src/sync/context.js';
import { SeenContent } from '../../../src/sync/landing/seen-content.js';
import { readList } from '../../../src/sync/scan.js';
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
  /** Everything that was listed at any time, and what was listed all the time. */
  readonly ever: Set<string>;
  readonly throughout: Set<string>;
  #made = 0;
  #script: Iterator<readonly Step[]> = [][Symbol.iterator]();

  constructor(
    count: number,
    readonly paging: Paging,
  ) {
    this.listed = Array.from({ length: count }, () => this.#next());
    this.ever = new Set(this.listed);
    this.throughout = new Set(this.listed);
  }

  script(turns: readonly (readonly Step[])[]): void {
    this.#script = turns[Symbol.iterator]();
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
    if (id === undefined) return;
    source.splice(source.indexOf(id), 1);
    if (kind === 'hide') this.hidden.push(id);
    else if (kind !== 'remove') this.#put(id, to);
  }

  #put(id: string, to: number): void {
    this.listed.splice(Math.round(to * this.listed.length), 0, id);
  }

  #next(): string {
    this.#made += 1;
    return `t${this.#made}`;
  }
}

const topics = resources.lists.find(({ name }) => name === 'topics')!;

/** A context whose API is that list. */
function contextOf(list: ShiftingList, scanAttempts: number): Context {
  const get = async (_: string, request?: AnyRequest): Promise<Answer> => {
    const body = list.page(request?.query ?? {});
    return { body, status: 200, arrivedAt: arrivalNow(systemClock), bytes: 0, attempts: 1 };
  };
  return {
    scanAttempts,
    resources,
    api: {
      get,
      concurrency: 1,
      contract: endpoints,
      paging: new PagingMemory({ pageParameter: 'page', limitParameter: 'limit', pageSize: 100 }),
    },
    batcher: { add: async () => {} },
    log: silentLog,
    clock: systemClock,
    observer: { phase() {}, progress() {}, phaseEnd() {}, note() {} },
    stop: new AbortController().signal,
    failures: [],
    seenContent: new SeenContent(),
    notes: [],
  } as unknown as Context;
}

const share = fc.integer({ min: 0, max: 999 }).map((thousandths) => thousandths / 1000);
const stepOf = (kinds: readonly Kind[]) =>
  fc.record({ kind: fc.constantFrom(...kinds), from: share, to: share });
const turnsOf = (kinds: readonly Kind[], maxLength: number) =>
  fc.array(fc.array(stepOf(kinds), { maxLength: 3 }), { maxLength });
const everything: readonly Kind[] = ['insert', 'remove', 'hide', 'show', 'move'];
/** Pages that hold more than arrives between two of them: otherwise a list has no end. */
const paging = fc.record({ base: fc.constantFrom<0 | 1>(0, 1), size: fc.integer({ min: 4, max: 12 }) });
const count = fc.integer({ min: 0, max: 60 });

describe('reading a list that shifts', () => {
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
      { numRuns: propertyRuns(60, 600) },
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
      { numRuns: propertyRuns(60, 600) },
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
      { numRuns: propertyRuns(40, 400) },
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
      { numRuns: propertyRuns(60, 600) },
    );
  });

  test('one that has no pages is verified by two answers', async () => {
    for (const items of [1, 37, 100]) {
      let requests = 0;
      const list = new ShiftingList(items, { base: 0, size: 1000, bare: true });
      const whole = list.page({});
      list.page = () => {
        requests += 1;
        return whole;
      };
      const read = await readList(contextOf(list, 3), topics);
      expect(read).toMatchObject({ verified: true, attempts: 1, pages: 1, items });
      expect(requests).toBe(2);
    }
  });

  test('one reading alone proves nothing', async () => {
    const list = new ShiftingList(30, { base: 1, size: 10, bare: true });
    const read = await readList(contextOf(list, 1), topics);
    expect(read).toMatchObject({ verified: false, items: 30, note: expect.stringContaining('has no total') });
  });
});
