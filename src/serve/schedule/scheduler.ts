import { type Clock, iso, millis, systemClock } from '../../base/clock.js';
import {
  ExitCode,
  LockedError,
  messageOf,
  OutageError,
  SignalhouseError,
  StoppedError,
  sentencesOf,
} from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type { Outage } from '../../base/observer.js';
import { moment } from '../../base/units.js';
import { Agenda, isFromWrongClock } from './agenda.js';
import { nextRun } from './cron.js';
import type { Job } from './job.js';
import {
  answered,
  isSuccess,
  type JobResult,
  type LiveRun,
  type Next,
  type OutageView,
  type Outcome,
  type Progress,
  type RunRecord,
  remembered,
  requested,
  retryPauseMs,
  type ScheduleMemory,
  type ScheduleStore,
  type ScheduleView,
  type Trigger,
} from './record.js';
import { FairSemaphore, type Turn } from './semaphore.js';

export interface RunContext {
  readonly trigger: Trigger;
  /** The program shuts down: finish what is in flight, commit, publish. */
  readonly stop: AbortSignal;
  /** The shutdown time is over: abandon what is in flight as well. */
  readonly kill: AbortSignal;
  /** Reports progress; cheap, so it may be called often. */
  progress(progress: Progress): void;
  /** The API does not answer and the run waits for it; null when the wait is over. */
  outage(outage: Outage | null): void;
}

/** Runs one job to its end. What it throws counts as a failure of that run, and of nothing else. */
export type RunJob = (job: Job, context: RunContext) => Promise<JobResult>;

export interface SchedulerOptions {
  /** Without jobProblems. */
  readonly jobs: readonly Job[];
  readonly run: RunJob;
  readonly memory: ScheduleStore;
  readonly log: Log;
  readonly clock?: Clock | undefined;
  /** The places that it shares with the schedulers of other organizations. */
  readonly turns?: FairSemaphore | undefined;
  /** How long a running job may take to end after `stop`. */
  readonly shutdownSeconds: number;
  /** How often the clock is checked; default 30000. */
  readonly lookMs?: number | undefined;
  /** Called for every run that ended or was skipped. */
  readonly onEnd?: ((record: RunRecord) => void) | undefined;
}

/** The work of a job, for people who did not expect it now. */
const doing: Readonly<Record<Job['run'], string>> = {
  sync: 'reads what has changed',
  push: 'sends the changes that wait in the queue',
  'sync+push': 'reads what has changed, and sends the changes that wait in the queue',
  export: 'writes every table to files',
  digest: 'makes the digest, and sends it',
  lake: 'publishes to the lake',
};

export type RequestedRun = 'accepted' | 'unknown' | 'busy' | 'stopping';

/** The wall clock is checked at least this often: it may be set, and timers do not run while a machine sleeps. */
const defaultLookMs = 30_000;
/** How loud the log tells of the end of a run; `info` for the others. */
const logLevels: Partial<Record<Outcome, 'error' | 'warn'>> = {
  failed: 'error',
  incomplete: 'warn',
  unavailable: 'warn',
};
/** How long a job may take to abandon its work after the shutdown time. */
const giveUpMs = 3_000;

/**
 * Runs jobs when they are due, one at a time, since they share the warehouse. A due time never runs twice and is never
 * forgotten: it runs, waits, or is recorded as skipped. A missed one (the process was down, the machine slept, a shutdown
 * interrupted it) runs once afterwards. Use either `start` or `runOnce`.
 */
export class Scheduler {
  readonly #clock: Clock;
  readonly #agenda: Agenda;
  readonly #createdAt: number;
  readonly #queue: RunQueue;
  readonly #stop = new AbortController();
  readonly #kill = new AbortController();
  /** Ends the sleep of `#watch`. */
  #alarm = new AbortController();
  #memory: ScheduleMemory = { jobs: {}, history: [] };
  #stopped: Promise<{ finished: boolean }> | undefined;

  constructor(private readonly options: SchedulerOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#createdAt = this.#clock.now();
    this.#agenda = new Agenda();
    const turns = options.turns ?? new FairSemaphore(1, this.#clock);
    this.#queue = new RunQueue((entry, turn) => this.#run(entry, turn), turns);
  }

  /** Runs what was missed, and watches the clock until `stop`. Resolves as soon as it watches. */
  async start(): Promise<void> {
    await this.#recall();
    if (this.#stop.signal.aborted) return;
    const now = this.#clock.now();
    for (const job of this.options.jobs) {
      const handled = this.#handledDue(job);
      const missed = this.#agenda.begin(job, handled, now);
      if (missed === null) continue;
      if (job.catchUp) {
        this.#announce(job, handled === null ? null : missed);
        this.#offer(job, 'catch-up', missed);
      }
      // A job that never ran has missed nothing.
      else if (handled !== null) await this.#missedForGood(job, missed);
    }
    void this.#watch();
  }

  /** A person who starts a service at noon should read what the first run does, and why it runs now. */
  #announce(job: Job, missed: number | null): void {
    const why = missed === null ? 'it never ran before' : `its run of ${moment(missed)} was missed`;
    this.options.log.info(
      { job: job.name, due: iso(missed) },
      `${job.name} runs once right after the start, because ${why}: it ${doing[job.run]}. With catchUp: false it waits for its schedule`,
    );
  }

  /** Runs every job that is due or never ran, one after the other, and returns their records. */
  async runOnce(): Promise<RunRecord[]> {
    await this.#recall();
    const now = this.#clock.now();
    const before = this.#memory.history;
    for (const job of this.options.jobs) {
      const missed = this.#agenda.begin(job, this.#handledDue(job), now);
      if (missed !== null && !this.#stop.signal.aborted) this.#queue.add(this.#entry(job, 'once', missed));
    }
    await this.#queue.idle();
    return this.#memory.history.filter((record) => !before.includes(record)).reverse();
  }

  /** Queues a run of a job; `busy` when it is already running or waiting. Once it is accepted, no kill loses it. */
  async ask(name: string): Promise<RequestedRun> {
    const job = this.options.jobs.find((one) => one.name === name);
    if (!job) return 'unknown';
    if (this.#stop.signal.aborted) return 'stopping';
    if (this.#queue.has(job)) return 'busy';
    this.#memory = requested(this.#memory, name, iso(this.#clock.now()));
    this.#queue.add(this.#entry(job, 'manual', null));
    await this.#save('a run that was requested cannot be stored: a restart would lose it');
    return 'accepted';
  }

  /**
   * Runs work that holds the warehouse between two runs, such as an import; jobs that become due meanwhile wait for it.
   * While something else holds the warehouse, it waits for its turn, before any job, with `wait`; otherwise it throws
   * LockedError, which names the holder. With `preempt`, a sync or push that runs ends at its next batch, and goes on after
   * this. Throws StoppedError after `stop`.
   */
  async exclusively<T>(
    name: string,
    work: () => Promise<T>,
    { wait = false, preempt = false } = {},
  ): Promise<T> {
    this.#stop.signal.throwIfAborted();
    const holder = this.#holder();
    if (holder !== null && !wait) {
      throw new LockedError(`the warehouse is in use: ${holder}`, process.pid);
    }
    if (preempt) this.#queue.running?.preempted.abort(new StoppedError(`${name} comes first`));
    return this.#queue.runExclusive(name, work);
  }

  view(): ScheduleView {
    const { running, waiting } = this.#queue;
    return {
      stopping: this.#stop.signal.aborted,
      running: running && liveRun(running),
      waiting: waiting.map(liveRun),
      jobs: this.options.jobs.map((job) => ({
        name: job.name,
        run: job.run,
        cron: job.cron,
        timezone: job.timezone,
        nextAt: iso(this.#nextStart(job, this.#clock.now())),
        last: this.#memory.history.find((record) => record.job === job.name) ?? null,
        lastSuccessAt: this.#memory.jobs[job.name]?.lastSuccessAt ?? null,
        overdueSince: this.#overdueSince(job),
        unavailableSince: this.#memory.jobs[job.name]?.unavailable?.since ?? null,
      })),
      history: this.#memory.history,
    };
  }

  /**
   * Starts no more jobs, tells the running one to stop, and waits for it; waiting runs will run at the next start.
   * `finished` is false when the job still runs after `shutdownSeconds` and after it was told to abandon its work.
   */
  stop(): Promise<{ finished: boolean }> {
    this.#stopped ??= this.#shutDown();
    return this.#stopped;
  }

  async #shutDown(): Promise<{ finished: boolean }> {
    const { log, shutdownSeconds } = this.options;
    const reason = new StoppedError('the worker is shutting down');
    this.#stop.abort(reason);
    this.#alarm.abort(reason);
    for (const { job, trigger } of this.#queue.clear(reason)) {
      const isDueTime = trigger === 'schedule' || trigger === 'catch-up';
      const next = isDueTime && !job.catchUp ? 'it waits for its schedule' : 'it will run at the next start';
      log.info({ job: job.name }, `${job.name} was waiting: ${next}`);
    }
    if (await this.#within(shutdownSeconds * 1000)) return { finished: true };
    const holder = this.#holder();
    log.warn(`${holder}: not finished after ${shutdownSeconds} s, abandoning what is in flight`);
    this.#kill.abort(new StoppedError(`not finished after ${shutdownSeconds} s`));
    return { finished: await this.#within(giveUpMs) };
  }

  /** Whether the queue was empty within that time. */
  async #within(ms: number): Promise<boolean> {
    const done = new AbortController();
    const idle = this.#queue.idle().then(() => true);
    const over = this.#clock.sleep(ms, done.signal).then(
      () => false,
      () => true,
    );
    const finished = await Promise.race([idle, over]);
    done.abort();
    return finished;
  }

  async #watch(): Promise<void> {
    const { lookMs = defaultLookMs } = this.options;
    while (!this.#stop.signal.aborted) {
      const now = this.#clock.now();
      for (const job of this.options.jobs) this.#look(job, now);
      const starts = this.options.jobs.map((job) => this.#nextStart(job, now) ?? now + lookMs);
      this.#alarm = new AbortController();
      try {
        await this.#clock.sleep(Math.min(lookMs, ...starts.map((start) => start - now)), this.#alarm.signal);
      } catch {
        // Stopped, or there is another start.
      }
    }
  }

  #look(job: Job, now: number): void {
    const due = this.#agenda.take(job, now);
    if (due === null) this.#retryIfDue(job, now);
    else if (due.isLate && !job.catchUp) void this.#missedForGood(job, due.due);
    else this.#offer(job, due.isLate ? 'catch-up' : 'schedule', due.due);
  }

  /** A retry that is running or waiting stays in the memory until it ends, so that a restart does not lose it. */
  #retryIfDue(job: Job, now: number): void {
    const at = this.#retryAt(job);
    if (at === null || at > now) return;
    if (!this.#queue.has(job)) this.#queue.add(this.#entry(job, 'retry', null));
  }

  #offer(job: Job, trigger: Trigger, dueAt: number): void {
    const same = this.#queue.waiting.find((entry) => entry.job === job);
    if (same)
      return void this.#skip(job, trigger, dueAt, `a run of it has been waiting since ${iso(same.since)}`);
    const holder = this.#holder();
    if (holder !== null) this.options.log.info({ job: job.name }, `${job.name} is due and waits: ${holder}`);
    this.#queue.add(this.#entry(job, trigger, dueAt));
  }

  #missedForGood(job: Job, dueAt: number): Promise<void> {
    return this.#skip(job, 'catch-up', dueAt, 'the worker was down, and catchUp is off');
  }

  async #skip(job: Job, trigger: Trigger, dueAt: number, why: string): Promise<void> {
    this.options.log.warn({ job: job.name, due: iso(dueAt) }, `${job.name} is skipped: ${why}`);
    await this.#recordEnd({
      job: job.name,
      trigger,
      outcome: 'skipped',
      exitCode: null,
      message: why,
      dueAt: iso(dueAt),
      startedAt: null,
      endedAt: iso(this.#clock.now()),
    });
  }

  async #run(entry: Entry, turn: Turn): Promise<void> {
    const { job, trigger } = entry;
    const { log, run } = this.options;
    entry.since = this.#clock.now();
    log.info({ job: job.name, trigger }, `${job.name} starts`);
    const progress = (now: Progress) => {
      entry.progress = now;
      if (this.#memory.jobs[job.name]?.unavailable) this.#memory = answered(this.#memory, job.name);
    };
    const outage = (now: Outage | null) => {
      entry.outage = now && outageView(now, this.#clock.now());
    };
    // Only these keep what they have done so far.
    const canGoOn = trigger !== 'once' && ['sync', 'push', 'sync+push'].includes(job.run);
    const preempted = entry.preempted.signal;
    const stop = canGoOn ? AbortSignal.any([this.#stop.signal, turn.over, preempted]) : this.#stop.signal;
    const signals = { stop, kill: this.#kill.signal };
    const result = await (async () => run(job, { trigger, ...signals, progress, outage }))().catch(thrown);
    const outcome = this.#outcomeOf(result, trigger);
    const wasPreempted = canGoOn && outcome === 'stopped' && (turn.over.aborted || preempted.aborted);
    const now = this.#clock.now();
    const next: Next =
      outcome === 'unavailable'
        ? this.#afterOutage(entry, now)
        : { retryAt: wasPreempted ? iso(now) : null, unavailable: null };
    const { retryAt, unavailable } = next;
    const nextAt = this.#agenda.nextStart(job, now, millis(retryAt)) ?? now;
    const goesOn = wasPreempted
      ? `it made room for ${preempted.aborted ? 'what was confirmed' : 'other organizations'}, and goes on after that`
      : unavailable && `no answer since ${moment(unavailable.since)}; the next try is at ${moment(nextAt)}`;
    const message = goesOn === null ? result.message : `${result.message.replace(/\.$/, '')}; ${goesOn}`;
    const level = logLevels[outcome] ?? 'info';
    log[level]({ job: job.name, outcome }, `${job.name} ${outcome}: ${message}`);
    const record: RunRecord = {
      job: job.name,
      trigger,
      outcome,
      exitCode: result.exitCode,
      message,
      runIds: result.runIds ?? [],
      dueAt: iso(entry.dueAt),
      startedAt: iso(entry.since),
      endedAt: iso(now),
      ...(unavailable && { unavailableSince: unavailable.since }),
    };
    await this.#recordEnd(record, next);
    if (retryAt !== null) this.#alarm.abort(new Error('a retry is due'));
  }

  /** When a job that the API did not answer runs again: after a pause that grows, unless it is due before that. */
  #afterOutage({ job, outage }: Entry, now: number): Next {
    const { since, runs } = this.#memory.jobs[job.name]?.unavailable ?? {
      since: outage?.since ?? iso(now),
      runs: 0,
    };
    const at = now + retryPauseMs(runs + 1);
    const due = this.#agenda.nextStart(job, now);
    return { retryAt: due !== null && at >= due ? null : iso(at), unavailable: { since, runs: runs + 1 } };
  }

  /** A run that was told to stop has not done its work. With `serve --once`, a run that the API did not answer is not tried again. */
  #outcomeOf({ outcome, endedByOutage }: JobResult, trigger: Trigger): Outcome {
    const wasStopped = outcome === 'stopped' ? this.#stop.signal.aborted : this.#kill.signal.aborted;
    if (wasStopped && outcome !== 'done' && outcome !== 'incomplete') return 'interrupted';
    return outcome === 'failed' && endedByOutage && trigger !== 'once' ? 'unavailable' : outcome;
  }

  async #recordEnd(record: RunRecord, next?: Next): Promise<void> {
    const { log, onEnd } = this.options;
    this.#memory = remembered(this.#memory, record, next);
    try {
      onEnd?.(record);
    } catch (error) {
      log.error({ err: error }, 'a listener for runs failed');
    }
    await this.#save('this run cannot be stored: it may run again after a restart');
  }

  async #save(problem: string): Promise<void> {
    const { log, memory } = this.options;
    await memory.save(this.#memory).catch((error: unknown) => log.error({ err: error }, problem));
  }

  async #recall(): Promise<void> {
    this.#memory = (await this.options.memory.load()) ?? this.#memory;
  }

  #handledDue(job: Job): number | null {
    return millis(this.#memory.jobs[job.name]?.handledDue);
  }

  /** The next start that is still to come: of the schedule, or of a retry before it. */
  #nextStart(job: Job, now: number): number | null {
    return this.#agenda.nextStart(job, now, this.#retryAt(job));
  }

  /**
   * Counted from the last success, or from the first run that is remembered, or from the start of the process. A success in
   * the future was written by a wrong clock.
   */
  #overdueSince(job: Job): string | null {
    const now = this.#clock.now();
    const runs = this.#memory.history.filter((record) => record.job === job.name);
    const successes = runs.filter(isSuccess).map(({ endedAt }) => endedAt);
    const known = [this.#memory.jobs[job.name]?.lastSuccessAt, ...successes, runs.at(-1)?.endedAt].map(
      millis,
    );
    const from = known.find((at) => at !== null && !isFromWrongClock(at, now)) ?? this.#createdAt;
    const due = nextRun(job, from);
    return due === null || due > now ? null : iso(due);
  }

  #retryAt(job: Job): number | null {
    return millis(this.#memory.jobs[job.name]?.retryAt);
  }

  #entry(job: Job, trigger: Trigger, dueAt: number | null): Entry {
    const preempted = new AbortController();
    return { job, trigger, dueAt, since: this.#clock.now(), progress: null, outage: null, preempted };
  }

  #holder(): string | null {
    const { running, exclusiveWork } = this.#queue;
    if (running) return `${running.job.name} has been running since ${iso(running.since)}`;
    return exclusiveWork === null ? null : `${exclusiveWork} is in progress`;
  }
}

/**
 * Runs entries one at a time, in order of arrival, each in its turn among the organizations: everything that holds the
 * warehouse goes through it. `run` must not reject.
 */
class RunQueue {
  readonly waiting: Entry[] = [];
  readonly #exclusiveWaiters: { readonly name: string; enter(): void; refuse(reason: Error): void }[] = [];
  running: Entry | null = null;
  /** The name of the work that holds the warehouse without being an entry; null for none. */
  exclusiveWork: string | null = null;
  #idle: (() => void)[] = [];

  constructor(
    private readonly run: (entry: Entry, turn: Turn) => Promise<void>,
    private readonly turns: FairSemaphore,
  ) {}

  /** Whether a job is running or waiting. */
  has(job: Job): boolean {
    return this.running?.job === job || this.waiting.some((entry) => entry.job === job);
  }

  get busy(): boolean {
    return this.running !== null || this.exclusiveWork !== null;
  }

  add(entry: Entry): void {
    this.waiting.push(entry);
    this.#next();
  }

  /** Removes everything that waits, and returns the entries. */
  clear(reason: Error): Entry[] {
    for (const waiter of this.#exclusiveWaiters.splice(0)) waiter.refuse(reason);
    return this.waiting.splice(0);
  }

  /** Holds the warehouse for work that is not an entry, before any entry that waits. Rejects when it is cleared before. */
  async runExclusive<R>(name: string, work: () => Promise<R>): Promise<R> {
    if (this.busy)
      await new Promise<void>((enter, refuse) => void this.#exclusiveWaiters.push({ name, enter, refuse }));
    this.exclusiveWork = name;
    try {
      return await work();
    } finally {
      this.exclusiveWork = null;
      this.#next();
    }
  }

  /** Resolves as soon as nothing runs and nothing waits. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#next();
    });
  }

  #next(): void {
    if (this.busy) return;
    const waiter = this.#exclusiveWaiters.shift();
    if (waiter) {
      this.exclusiveWork = waiter.name;
      waiter.enter();
      return;
    }
    if (this.waiting.length === 0) {
      for (const resolve of this.#idle.splice(0)) resolve();
      return;
    }
    const turn = this.turns.take(this.#again);
    const entry = turn && this.waiting.shift();
    if (!turn || !entry) return;
    this.running = entry;
    void this.run(entry, turn).finally(() => {
      // Others first: who waits already waits longer than the next one here.
      turn.release();
      this.running = null;
      this.#next();
    });
  }

  readonly #again = () => this.#next();
}

interface Entry {
  readonly job: Job;
  readonly trigger: Trigger;
  readonly dueAt: number | null;
  /** When it started waiting; once it runs, when it started. */
  since: number;
  progress: Progress | null;
  outage: OutageView | null;
  /** Aborted when it has to end at its next batch, and go on later. */
  readonly preempted: AbortController;
}

function liveRun({ job, trigger, dueAt, since, progress, outage }: Entry): LiveRun {
  return { job: job.name, trigger, dueAt: iso(dueAt), since: iso(since), progress, outage };
}

function outageView({ forMs, leftMs, reason }: Outage, now: number): OutageView {
  return { since: iso(now - forMs), until: iso(now + leftMs), reason };
}

/** The result of a job that threw: stopped, or failed with what to do next. */
function thrown(error: unknown): JobResult {
  if (error instanceof StoppedError) {
    return { outcome: 'stopped', exitCode: ExitCode.done, message: messageOf(error) };
  }
  const { exitCode } = error instanceof SignalhouseError ? error : { exitCode: ExitCode.failed };
  const message = sentencesOf(error);
  return { outcome: 'failed', exitCode, message, endedByOutage: error instanceof OutageError };
}
