import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Attempt } from '../../../src/api/attempt.js';
import { arrivalNow, type Clock } from '../../../src/base/clock.js';
import { UnavailableError } from '../../../src/base/errors.js';
import { silentLog } from '../../../src/base/log.js';
import type { Change } from '../../../src/push/change.js';
import { CircuitBreaker, LatestTimes, type PushContext } from '../../../src/push/context.js';
import { Queue } from '../../../src/push/queue.js';
import { queueChanges } from '../../../src/push/queueing.js';
import { AttemptLog, Sender } from '../../../src/push/send.js';
import { emptyDir } from '../../support/open-warehouse.js';
import { newChange } from '../../support/pushing.js';

/**
 * Pushes to an API that lags behind, makes writes late, loses answers and stores texts in another form, while colleagues work
 * between any two requests: whatever happens, no change is made twice, none over a value that could have been seen, and nothing is
 * sent under another key while an earlier request may still be made.
 */

const [hour, start] = [3_600_000, Date.UTC(2026, 0, 1)];

/** What a write meets. */
type Behaviour = 'good' | 'late' | 'lost before' | 'lost after' | 'server error';

type Step =
  | { readonly do: 'ask'; readonly value: string; readonly by: string }
  | { readonly do: 'colleague'; readonly value: string }
  | {
      readonly do: 'push';
      readonly writes: readonly Behaviour[];
      /** Whether each read comes from a server that lags behind. */
      readonly lags: readonly boolean[];
      readonly colleagues: readonly (string | null)[];
    }
  | { readonly do: 'wait'; readonly hours: number };

interface Execution {
  readonly key: string;
  readonly over: string;
  /** Whether a colleague has changed it since it was last read, or it was accepted and made later: nobody could see that. */
  readonly isUnseen: boolean;
  /** Whether the API had the value already, in the form in which it stores it: then nothing could show that it was made. */
  readonly isWithoutTrace: boolean;
}

/** One topic with one text, `archived_reason` of an archived topic: the field that has any text. */
class World {
  now = start;
  value = 'a';
  updatedAt = start - 10 * hour;
  readonly history: { at: number; from: string; to: string }[] = [];
  /** Older states, that a replica answers. */
  readonly states: { value: string; updatedAt: number }[] = [];
  readonly executions: Execution[] = [];
  readonly answers = new Map<string, unknown>();
  late: { key: string; value: string }[] = [];
  readonly violations: string[] = [];
  writes: Behaviour[] = [];
  lags: boolean[] = [];
  colleagues: (string | null)[] = [];
  isChangedSinceRead = false;

  readonly clock: Clock = {
    now: () => this.now,
    monotonic: () => this.now,
    sleep: async (ms) => {
      this.now += ms;
    },
  };

  set(value: string, isColleague = true): void {
    if (value === this.value) return;
    this.states.push({ value: this.value, updatedAt: this.updatedAt });
    this.now += 1_000;
    this.history.unshift({ at: this.now, from: this.value, to: value });
    [this.value, this.updatedAt] = [value, this.now];
    if (isColleague) this.isChangedSinceRead = true;
  }

  execute(key: string, asked: string, isLate: boolean): unknown {
    const earlier = this.answers.get(key);
    if (earlier) return earlier;
    const stored = form(asked);
    this.executions.push({
      key,
      over: this.value,
      isUnseen: isLate || this.isChangedSinceRead,
      isWithoutTrace: stored === this.value,
    });
    this.set(stored, false);
    const answer = this.body();
    this.answers.set(key, answer);
    return answer;
  }

  body({ value, updatedAt } = { value: this.value, updatedAt: this.updatedAt }) {
    const archivedAt = new Date(start).toISOString();
    return { id: 't', archivedAt, archivedReason: value, updatedAt: new Date(updatedAt).toISOString() };
  }

  /** Makes what was accepted before. */
  makeLate(): void {
    for (const { key, value } of this.late.splice(0)) this.execute(key, value, true);
  }
}

async function pushed(world: World, queue: Queue): Promise<void> {
  const attempts = new AttemptLog();
  const answered = (body: unknown, status = 200) => ({
    body,
    status,
    arrivedAt: arrivalNow(world.clock),
    bytes: 9,
  });
  const isLagging = world.lags.includes(true);
  const where = { endpoint: 'update_topic', method: 'PATCH', path: '/topics/t' };
  const call = async (
    endpoint: string,
    request: { body?: { archivedReason: string }; idempotencyKey?: string },
  ) => {
    world.now += 500;
    const colleague = world.colleagues.shift();
    if (colleague) world.set(colleague);
    if (endpoint === 'topic_history') {
      const history = world.history.map(({ at, from, to }) => ({
        changedAt: new Date(at).toISOString(),
        changes: { archivedReason: to },
        previousValues: { archivedReason: from },
      }));
      return answered({ history, totalCount: history.length });
    }
    if (endpoint === 'topic') {
      const older = world.states.at(-1);
      if (world.lags.shift() && older) return answered(world.body(older));
      const body = world.body();
      world.isChangedSinceRead = false;
      return answered(body);
    }
    const behaviour = world.writes.shift() ?? 'good';
    const [key, value] = [request.idempotencyKey ?? '', request.body?.archivedReason ?? ''];
    if (world.late.some((one) => one.key !== key))
      world.violations.push(`${key} was sent beside one in doubt`);
    const record = (errorKind?: Attempt['errorKind']) =>
      attempts.record({
        ...where,
        errorKind,
        startedAt: new Date(world.now),
        ms: 1,
        bytes: 9,
        attempt: 1,
      } as Attempt);
    const failed = (message: string, kind: Attempt['errorKind']) => {
      record(kind);
      return new UnavailableError(message, where, undefined);
    };
    if (behaviour === 'late' && !world.answers.has(key)) {
      record();
      if (!world.late.some((one) => one.key === key)) world.late.push({ key, value });
      return answered({}, 202);
    }
    // An API that makes a write, says that it failed, forgets its key, and then shows the old state, cannot be told from one that did not.
    const isHopeless = behaviour === 'server error' && isLagging;
    if (behaviour === 'lost before' || isHopeless) throw failed('lost', 'reset');
    const body = world.execute(key, value, false);
    world.late = world.late.filter((one) => one.key !== key);
    if (behaviour === 'server error') world.answers.delete(key);
    if (behaviour === 'server error' || behaviour === 'lost after') throw failed(behaviour, 'server_error');
    record();
    return answered(body);
  };
  const context = {
    api: { outages: 0, concurrency: 1, call, retry: { attempts: 3, maxMs: 1_000, baseMs: 100 } },
    clock: world.clock,
    queue,
    store: { all: async () => [] },
    log: silentLog,
    notes: [],
    stop: new AbortController().signal,
    config: { rateLimit: { requests: 120, windowMs: 60_000 } },
    observer: { phase() {}, progress() {}, phaseEnd() {}, note() {} },
    batcher: { add: async () => undefined, flush: async () => undefined },
    onConflict: 'report',
    storedCounts: { topic: 1e6, company: 0 },
    circuitBreaker: new CircuitBreaker(),
    latest: new LatestTimes(),
  } as unknown as PushContext;
  // What the warehouse has seen by then: a sync runs before each push.
  context.latest.compare({ entityType: 'topic', entityId: 't' }, world.body(), arrivalNow(world.clock));
  world.isChangedSinceRead = false;
  const sender = new Sender(context, attempts);
  await sender.resume();
  await sender.sendQueued('topic');
}

// What a colleague sets is never what somebody asks for: nothing could tell whose value it is.
const value = fc.constantFrom('b', 'c  c', 'f');
const behaviour = fc.constantFrom<Behaviour>(
  ...(['good', 'late', 'late', 'lost before', 'lost after', 'server error'] as const),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('ask' as const), value, by: fc.constantFrom('kim', 'lee') }),
  fc.record({ do: fc.constant('colleague' as const), value: fc.constantFrom('a', 'd', 'e') }),
  fc.record({
    do: fc.constant('push' as const),
    writes: fc.array(behaviour, { maxLength: 3 }),
    lags: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
    colleagues: fc.array(fc.option(fc.constantFrom('a', 'd'), { freq: 2 }), { maxLength: 6 }),
  }),
  fc.record({ do: fc.constant('wait' as const), hours: fc.constantFrom(1, 12, 25) }),
);

const form = (text: unknown) => String(text).replaceAll(/\s+/g, ' ');

it('whatever the API and colleagues do, nothing is made twice, over what was seen, or told otherwise than it went', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
      const world = new World();
      const store = { all: async () => [], transaction: async () => undefined as never };
      const queue = await Queue.open(store, { dataDir: emptyDir() }, world.clock);
      const keys = new Map<string, string>();
      for (const one of [...steps, { do: 'push', writes: [], lags: [], colleagues: [] } as const]) {
        world.now += 60_000;
        if (one.do === 'colleague') world.set(one.value);
        if (one.do === 'wait') {
          // The API makes what it has accepted, and forgets its keys after a day.
          world.makeLate();
          world.now += one.hours * hour;
          if (one.hours > 24) world.answers.clear();
        }
        if (one.do === 'ask') {
          const change = newChange({
            topic: 't',
            wanted: { archived_reason: one.value },
            base: { archived_reason: world.value },
          });
          queueChanges(queue, [{ ...change, requestedBy: one.by, importId: randomUUID() }]);
        }
        if (one.do === 'push') {
          world.writes = [...one.writes];
          world.lags = [...one.lags];
          world.colleagues = [...one.colleagues];
          await pushed(world, queue);
        }
        for (const change of queue.all()) keys.set(change.idempotencyKey, change.id);
      }
      world.makeLate();
      expect(world.violations).toEqual([]);
      const executed = world.executions.map(({ key }) => keys.get(key) ?? key);
      expect(new Set(executed).size, 'made twice').toBe(executed.length);
      for (const { key, over, isUnseen, isWithoutTrace } of world.executions) {
        const change = queue.all().find(({ id }) => id === keys.get(key)) as Change;
        // What the same person has set meanwhile is no surprise either.
        const own = queue
          .withStatus('applied')
          .filter(({ requestedBy }) => requestedBy === change.requestedBy);
        const seen = [change.base, ...own.map(({ wanted }) => wanted)].map((of) => form(of.archived_reason));
        if (!isUnseen) expect(seen, `over what was seen, ${change.id}`).toContain(form(over));
        const told = ['applied', 'conflict', 'sending', ...(isWithoutTrace ? ['failed'] : [])];
        // A conflict was told before a later change replaced it.
        const isReplaced = change.status === 'superseded' && change.errorCode === 'conflict';
        expect(told, change.error ?? '').toContain(isReplaced ? 'conflict' : change.status);
      }
    }),
    { numRuns: 300 },
  );
}, 120_000);
