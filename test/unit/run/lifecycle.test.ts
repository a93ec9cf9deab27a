import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Attempt } from '../../../src/api/attempt.js';
import {
  OutageError,
  RefusedError,
  StoppedError,
  StorageError,
  UnavailableError,
} from '../../../src/base/errors.js';
import type { RunObserver } from '../../../src/base/observer.js';
import type { Batch, Merged } from '../../../src/load/batch.js';
import {
  ageBy,
  type EndedRun,
  type RunContext,
  type RunKind,
  type RunOptions,
  type RunParts,
  type RunReport,
  type RunSteps,
  runLifecycle,
} from '../../../src/run/lifecycle.js';
import type { RunEnd } from '../../../src/store/runs.js';

const attempt = (path: string): Attempt => ({
  endpoint: 'topics',
  method: 'GET',
  path,
  startedAt: new Date(0),
  ms: 5,
  bytes: 10,
  attempt: 1,
  status: 200,
  errorKind: undefined,
  requestId: undefined,
  serverDate: undefined,
});
const silent: RunObserver = { phase() {}, progress() {}, phaseEnd() {}, note() {} };

/** A run against a warehouse that only writes down what it is asked to do. */
class Trial {
  readonly calls: string[] = [];
  readonly rows: RunEnd[] = [];
  readonly batches: Batch[] = [];
  readonly events = new EventEmitter();
  now = 0;
  unavailableMs = 0;
  reachCap: (() => void) | undefined;
  /** Raised by the next call of publish. */
  publishError: Error | undefined;

  start(
    steps: (context: RunContext) => Partial<RunSteps<Pick<RunReport, 'outcome' | 'exitCode'>>>,
    options: RunOptions = {},
    kind: RunKind = { command: 'sync', publishes: () => true },
  ): Promise<EndedRun<Pick<RunReport, 'outcome' | 'exitCode'>>> {
    return runLifecycle(this.#parts(), kind, options, silent, (context) => ({
      work: async () => undefined,
      verdict: () => ({ incomplete: false }),
      report: async ({ head }) => ({
        report: { outcome: head.outcome, exitCode: head.exitCode },
        leftDue: null,
      }),
      ...steps(context),
    }));
  }

  #parts(): RunParts {
    const { calls } = this;
    const warehouse = {
      startRun: async () => {
        calls.push('start');
        return 'run-1';
      },
      append: async (batch: Batch) => {
        calls.push('append');
        this.batches.push(batch);
      },
      merge: async (): Promise<Merged | null> => {
        if (calls.at(-1) === 'finish' || calls.includes('merge')) return null;
        calls.push('merge');
        const rows = { topics: { new: 2, changed: 1, removed: 0 } };
        const nothing = { new: 0, changed: 0, removed: 0 };
        const rejections = { new: 0, known: 0, examples: [] };
        return {
          documents: nothing,
          rows,
          outdated: 0,
          rejections,
          newDrift: [],
          known: { entities: [], coverage: [] },
        };
      },
      finishRun: async (_: string, end: RunEnd) => {
        calls.push('finish');
        this.rows.push(end);
      },
      trim: async () => void calls.push('trim'),
      publicationMs: async () => 4_000,
      publish: async () => {
        calls.push('publish');
        const { publishError } = this;
        this.publishError = undefined;
        if (publishError) throw publishError;
        return { path: 'signals.duckdb', bytes: 1, ms: 1, userViews: [], tables: 1 };
      },
    };
    return {
      config: {
        shutdownSeconds: 25,
        retention: { recordsDays: 1 },
        tuning: { batch: { megabytes: 1, answers: 10, seconds: 60 }, publishEveryMinutes: 1 },
      },
      api: {
        events: this.events,
        budget: { allow: (_: number, reached: () => void) => (this.reachCap = reached) },
        takeUnavailableMs: () => this.unavailableMs,
      },
      warehouse,
      identity: { organization: { id: 'o', name: null }, attempts: [attempt('/whoami')] },
      clock: { now: () => this.now, monotonic: () => this.now },
      log: { warn: (_: object, text: string) => calls.push(text) },
      programVersion: '1',
    } as unknown as RunParts;
  }
}

describe('runLifecycle', () => {
  it('commits, stores the end, trims and publishes, in this order', async () => {
    const trial = new Trial();
    const seen: string[] = [];
    const { published } = await trial.start(() => ({
      async work() {
        trial.events.emit('attempt', attempt('/topics'));
      },
      beforeLastBatch: async () => void trial.calls.push('last parts'),
      onAttempt: ({ path }) => void seen.push(path),
      afterBatch: async () => void trial.calls.push('after batch'),
    }));
    expect(trial.calls).toEqual([
      'start',
      'last parts',
      'append',
      'after batch',
      'merge',
      'after batch',
      'finish',
      'trim',
      'publish',
    ]);
    expect(published).toEqual({ path: 'signals.duckdb', bytes: 1, ms: 1, userViews: [] });
    expect(seen).toEqual(['/whoami', '/topics']);
    expect(trial.batches[0]?.requests.map(({ path }) => path)).toEqual(seen);
    expect(trial.rows).toMatchObject([{ outcome: 'done', requests: 2, rows: { new: 2, changed: 1 } }]);
  });

  it('a run that does not publish leaves the published file and old records alone', async () => {
    const trial = new Trial();
    await trial.start(() => ({}), {}, { command: 'plan', publishes: () => false });
    expect(trial.calls).toEqual(['start', 'append', 'merge', 'finish']);
  });

  it('publishes between two batches of a long run, and goes on when nothing could be published', async () => {
    const trial = new Trial();
    trial.publishError = new StorageError('no memory');
    await trial.start((context) => ({
      async work() {
        await context.batcher.flush();
        for (trial.now = 60_000; trial.now <= 70_000; trial.now += 10_000) {
          trial.events.emit('attempt', attempt('/topics'));
          await context.batcher.flush();
        }
      },
    }));
    expect(trial.calls).toEqual([
      'start',
      'append',
      'merge',
      'append',
      'publish',
      'nothing could be published; the run goes on, and tries again',
      'append',
      'finish',
      'trim',
      'publish',
    ]);
  });

  const throwing = (error: Error) => ({ work: () => Promise.reject(error) });
  const unavailable = new UnavailableError('down', { endpoint: 't', method: 'GET', path: '/' }, 503);
  it.each([
    ['a failure', throwing(unavailable), { outcome: 'failed', exitCode: 1, error: 'down' }],
    ['a refused key', throwing(new RefusedError('no')), { outcome: 'failed', exitCode: 5, error: 'no' }],
    [
      ...(['what did not go through', { verdict: () => ({ incomplete: true }) }] as const),
      { outcome: 'incomplete', exitCode: 3, error: null },
    ],
    [
      ...([
        'what failed and was not thrown',
        { verdict: () => ({ incomplete: true, failed: true }) },
      ] as const),
      { outcome: 'failed', exitCode: 1, error: null },
    ],
  ] as const)('%s is committed, stored and published as well', async (_, steps, row) => {
    const trial = new Trial();
    const { report } = await trial.start(() => steps);
    expect(report).toEqual({ outcome: row.outcome, exitCode: row.exitCode });
    expect(trial.rows).toMatchObject([row]);
    expect(trial.calls.at(-1)).toBe('publish');
  });

  it('says how long the API was unavailable, and whether that ended the run', async () => {
    const trial = new Trial();
    trial.unavailableMs = 240_000;
    let notes: readonly string[] = [];
    await trial.start(({ notes: ofRun }) => ({
      async work() {
        throw new OutageError('down for long');
      },
      report: async ({ head }) => {
        notes = [...ofRun, String(head.endedByOutage), String(head.unavailableMinutes)];
        return { report: { outcome: head.outcome, exitCode: head.exitCode }, leftDue: null };
      },
    }));
    expect(notes).toEqual(['the API was unavailable for 4 min', 'true', '4']);
    expect(trial.rows).toMatchObject([{ outcome: 'failed', exitCode: 1 }]);
  });

  it.each([
    [18_000, true],
    [20_000, false],
  ])('publishes %i ms after a signal: %s, because the last publication took 4 s', async (ms, publishes) => {
    const trial = new Trial();
    const stop = new AbortController();
    const { published } = await trial.start(
      () => ({
        async work() {
          stop.abort(new StoppedError('SIGTERM'));
          trial.now += ms;
        },
      }),
      { stop: stop.signal },
    );
    expect([published !== null, trial.calls.includes('publish')]).toEqual([publishes, publishes]);
    expect(trial.calls).toContain('finish');
  });

  it('stops at its cap, with what did not go through deciding the exit code', async () => {
    for (const [incomplete, exitCode] of [
      [false, 0],
      [true, 3],
    ] as const) {
      const trial = new Trial();
      const { report, error } = await trial.start(
        (context) => ({
          async work() {
            trial.reachCap?.();
            context.stop.throwIfAborted();
          },
          verdict: () => ({ incomplete }),
        }),
        { maxRequests: 1 },
      );
      expect(report).toEqual({ outcome: 'stopped', exitCode });
      expect(error?.message).toBe('--max-requests 1 is reached');
      expect(trial.rows).toMatchObject([{ outcome: 'stopped', error: null }]);
    }
  });

  it('an unexpected error, or a batch that cannot be stored, is thrown; what the run held is released', async () => {
    for (const error of [new TypeError('a defect'), new StorageError('disk full')]) {
      const trial = new Trial();
      const stop = new AbortController();
      const run = trial.start(
        () => ({
          beforeLastBatch: async () => {
            throw error;
          },
        }),
        { stop: stop.signal },
      );
      await expect(run).rejects.toBe(error);
      expect(trial.calls).toEqual(['start']);
      expect(trial.events.listenerCount('attempt')).toBe(0);
    }
  });
});

it('months before the end of a long month end with the shorter one, so that nothing is too old too early', () => {
  const retention = { recordsDays: 1, messagesMonths: 3, peopleMonths: 12 };
  expect(ageBy(retention, new Date('2026-05-31T10:00:00Z'))).toEqual({
    deleted: null,
    messages: new Date('2026-02-28T10:00:00Z'),
    people: new Date('2025-05-31T10:00:00Z'),
  });
});
