import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { guardedWindow } from '../api/budget.js';
import { usualTimeouts } from '../api/request.js';
import { SpendingLog, spendingLogPath } from '../api/spending-log.js';
import { type Clock, iso, systemClock } from '../base/clock.js';
import { StorageError } from '../base/errors.js';
import type {
  Contents,
  Facts,
  Freshness,
  MinuteOfRequests,
  RecentRequests,
  RunDetails,
} from '../base/facts.js';
import { type FreshnessObjective, staleBoundOf } from '../base/freshness-estimate.js';
import { countBy } from '../base/group-by.js';
import { silentLog } from '../base/log.js';
import { oneAtATime } from '../base/one-at-a-time.js';
import { freshnessHours } from '../config/schema.js';
import { resources } from '../contract/resources.js';
import { journalPath, readQueue } from '../push/queue.js';
import { fileVersion, snapshotVersion, withFullSnapshot, withSnapshotIfAny } from '../read/snapshot.js';
import { readContents, readFiles, readRun } from '../read/status.js';
import { freeBytes } from '../store/faults.js';
import { readingLimitsOf } from '../store/memory.js';
import type { Setup } from './setup.js';

/** The facts that only change with the published snapshot and the queue's journal. */
type StoredFacts = Pick<Facts, 'contents' | 'queue'>;

/** Reads the facts, once. Raises StorageError when the snapshot does not open. */
export async function readFacts(setup: Setup): Promise<Facts> {
  return completed(setup, await readStored(setup), []);
}

async function readStored(setup: Setup): Promise<StoredFacts> {
  const { config, log } = setup;
  const isPublished = readFiles(config.dataDir).publishedAt !== null;
  const read = isPublished ? await readContents(config.dataDir, readingLimitsOf(config)) : null;
  const bound = staleBoundOf(config.serve.freshness);
  const contents = read && {
    ...read,
    publishedFiles: comparedFiles(read.publishedFiles, config.publish),
    estimates: read.estimates.map((one) => ({ ...one, bound })),
  };
  const changes = await withSnapshotIfAny(setup, (snapshot) => readQueue(snapshot, config, log));
  return { contents, queue: countBy(changes, ({ status }) => status) };
}

/** The published files, and whether each is as the settings say; files that are not there yet are added. */
function comparedFiles(
  files: Contents['publishedFiles'],
  publish: Setup['config']['publish'],
): Contents['publishedFiles'] {
  const wanted = [{ ...publish, file: 'signals.duckdb' }, ...publish.also].map(
    ({ file, profile, exclude, mask }) => {
      const found = files.find((one) => one.file === file);
      const isFull = profile === 'none' && exclude.length === 0 && Object.keys(mask).length === 0;
      const wasFull = !found || (found.excluded.length === 0 && found.masked.length === 0);
      const outdated = isFull !== wasFull || (found?.profile ?? 'none') !== profile;
      const empty = { profile: 'none', excluded: [], masked: [], views_adapted: [], views_left_out: [] };
      return { ...empty, ...found, file, outdated };
    },
  );
  const others = files.filter(({ file }) => !wanted.some((one) => one.file === file));
  const all = [...wanted, ...others.map((one) => ({ ...one, outdated: true }))];
  return files.length === 0 && !all.some(({ outdated }) => outdated) ? [] : all;
}

async function completed(
  setup: Setup,
  stored: StoredFacts,
  live: readonly MinuteOfRequests[],
): Promise<Facts> {
  return {
    ...readFiles(setup.config.dataDir),
    diskFreeBytes: freeBytesFor(setup.config.dataDir),
    ...stored,
    freshness: freshnessOf(setup, stored.contents),
    spending: spendingNow(setup),
    spent: recentRequests(setup, stored.contents?.spent ?? [], live),
  };
}

/** Of the disk that the directory is on, or will be. */
function freeBytesFor(directory: string): number | null {
  const above = dirname(directory);
  return freeBytes(directory) ?? (above === directory ? null : freeBytesFor(above));
}

/** A list is as fresh as its last complete scan. */
function freshnessOf({ config }: Setup, contents: Contents | null): Freshness[] {
  const freshness: FreshnessObjective = config.serve.freshness;
  const byList = typeof freshness === 'number' ? { default: freshness } : freshness;
  return resources.lists.map(({ name }) => {
    const list = contents?.lists.find(({ endpoint }) => endpoint === name);
    const objective = byList[name] ?? byList.default ?? freshnessHours;
    return {
      resource: name,
      at: list?.complete_at ?? null,
      objectiveMinutes: objective === 0 ? null : objective * 60,
    };
  });
}

/** A read that takes longer fails, and the last facts stay. */
const deadlineMs = 15_000;

/**
 * A function that reads the facts and may be called as often as needed: the files are read again only when they have
 * changed, and never twice at a time. Rejects with a StorageError when reading takes too long.
 */
export function factsReader(setup: Setup, live: LiveSpending): () => Promise<Facts> {
  const clock = setup.clock ?? systemClock;
  let last: { version: string; stored: StoredFacts } | undefined;
  let reading: Promise<StoredFacts> | undefined;

  async function read(): Promise<StoredFacts> {
    const { dataDir } = setup.config;
    const version = `${snapshotVersion(dataDir)}, ${fileVersion(journalPath(dataDir))}`;
    if (last?.version !== version) last = { version, stored: await readStored(setup) };
    return last.stored;
  }

  return async () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    const over = new AbortController();
    const late = clock.sleep(deadlineMs, over.signal).then(() => {
      throw new StorageError(`reading signals.duckdb took longer than ${deadlineMs / 1000} s`);
    });
    late.catch(() => undefined);
    try {
      return await completed(setup, await Promise.race([reading, late]), live.spent);
    } finally {
      over.abort();
    }
  };
}

/**
 * A function that reads one run of the published snapshot, one at a time: however many pages are asked for, one reader
 * is open.
 */
export function runReader(setup: Setup): (runId: string) => Promise<RunDetails | null> {
  const inTurn = oneAtATime();
  return (runId) => inTurn(() => withFullSnapshot(setup, (snapshot) => readRun(snapshot, runId)));
}

const minuteMs = 60_000;
const sliceMinutes = 10;
const sliceCount = 36;

/** How many requests of the running window are spent, by every command of the data directory. */
function spendingNow({ config, clock = systemClock }: Setup): Facts['spending'] {
  const { rateLimit, tuning } = config;
  const { requests, windowMs } = rateLimit;
  const spending = { held: 0, limit: requests, windowMs };
  const path = spendingLogPath(config.dataDir);
  if (!existsSync(path)) return spending;
  const heldMs = guardedWindow(windowMs);
  const { totalMs: attemptMs } = tuning.timeouts ?? usualTimeouts;
  // A user who may not write there sees nothing spent, which is better than no status at all.
  const spendingLog = new SpendingLog({ path, heldMs, attemptMs, requests, clock, log: silentLog });
  try {
    return { ...spending, held: spendingLog.held() };
  } finally {
    spendingLog.close();
  }
}

/** Requests of the last hours: those of the snapshot and those of this process together, in slices of equal length. */
function recentRequests(
  { clock = systemClock }: Setup,
  stored: readonly MinuteOfRequests[],
  live: readonly MinuteOfRequests[],
): RecentRequests {
  const sliceMs = sliceMinutes * minuteMs;
  const first = (Math.floor(clock.now() / sliceMs) - sliceCount + 1) * sliceMs;
  const slices = Array.from({ length: sliceCount }, (_, index) => ({
    from: iso(first + index * sliceMs),
    requests: 0,
    rateLimited: 0,
    busiestMinute: 0,
  }));
  // For a minute that both have, the larger count is the truer one: a snapshot that was published within the minute has
  // a part of it, and this process knows of its own requests alone.
  const minutes = new Map<number, MinuteOfRequests>();
  for (const one of [...stored, ...live]) {
    const other = minutes.get(one.minute);
    if (!other || one.requests > other.requests) minutes.set(one.minute, one);
  }
  for (const { minute, requests, rate_limited } of minutes.values()) {
    const slice = slices[Math.floor((minute - first) / sliceMs)];
    if (!slice) continue;
    slice.requests += requests;
    slice.rateLimited += rate_limited;
    slice.busiestMinute = Math.max(slice.busiestMinute, requests);
  }
  return { slices, sliceMinutes };
}

/** Counts the requests of this process by the minute: no snapshot has them yet. */
export class LiveSpending {
  readonly #minutes = new Map<number, { minute: number; requests: number; rate_limited: number }>();

  constructor(private readonly clock: Clock = systemClock) {}

  attempt({ status }: { readonly status?: number | undefined }): void {
    const now = this.clock.now();
    const minute = Math.floor(now / minuteMs) * minuteMs;
    const one = this.#minutes.get(minute) ?? { minute, requests: 0, rate_limited: 0 };
    this.#minutes.set(minute, one);
    one.requests += 1;
    if (status === 429) one.rate_limited += 1;
    const oldest = now - sliceCount * sliceMinutes * minuteMs;
    for (const key of this.#minutes.keys()) if (key < oldest) this.#minutes.delete(key);
  }

  get spent(): readonly MinuteOfRequests[] {
    return [...this.#minutes.values()];
  }
}
