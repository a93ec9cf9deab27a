import { statSync } from 'node:fs';
import { type Clock, systemClock } from '../base/clock.js';
import { StorageError } from '../base/errors.js';
import { resources } from '../contract/resources.js';
import { journalPath } from '../push/queue/journal.js';
import { readQueue } from '../push/queue/overlay.js';
import type { Budget, Facts, Freshness } from '../serve/facts.js';
import { iso } from '../serve/iso.js';
import { type Contents, readOutside, readStatus, type Spent, type Status } from '../warehouse/read/status.js';
import { filesOf } from '../warehouse/store/engine.js';
import { heldNow } from './spending.js';
import { ask, readingLimitsOf, type Setup } from './worker.js';

/** What the files of a data directory say, without holding any of them. */
export interface Known {
  readonly status: Status;
  /** Changes to push by status, as far as they have come. */
  readonly queue: Readonly<Record<string, number>>;
}

/** Reads the published snapshot and the queue. Raises StorageError when the snapshot does not open. */
export async function readKnown(setup: Setup): Promise<Known> {
  const { config } = setup;
  const status = await readStatus(config.dataDir, readingLimitsOf(config));
  const changes =
    status.contents === null
      ? await readQueue(null, config.dataDir)
      : await ask(setup, (snapshot) => readQueue(snapshot, config.dataDir));
  const queue: Record<string, number> = {};
  for (const change of changes) queue[change.status] = (queue[change.status] ?? 0) + 1;
  return { status, queue };
}

/** What is known, as the page, the metrics, the notifications and `status` tell it. */
export function factsOf(setup: Setup, { status, queue }: Known, live: readonly Spent[] = []): Facts {
  const { contents, files, publishedAt } = status;
  const { organization = null, left = null } = contents ?? {};
  return {
    organization: organization && { id: organization.id, name: organization.name },
    publishedAt,
    files: { worker: files.worker?.bytes ?? null, published: files.published?.bytes ?? null },
    rows: contents?.rows ?? {},
    backlog: left && { due: left.due, requests: left.requests, minutes: left.minutes },
    freshness: freshnessOf(setup, contents),
    budget: budgetOf(setup, contents?.spent ?? [], live),
    queue,
    rejected: (contents?.rejected ?? []).map(({ last_seen_at: lastSeenAt, ...one }) => ({
      ...one,
      lastSeenAt,
    })),
    drift: (contents?.drift ?? []).map(({ first_seen_at: firstSeenAt, ...one }) => ({ ...one, firstSeenAt })),
  };
}

/** A list is as fresh as its last reading that added up. */
function freshnessOf({ config }: Setup, contents: Contents | null): Freshness[] {
  const hours: Readonly<Partial<Record<string, number>>> = config.serve.freshness;
  return resources.lists.map(({ name }) => {
    const read = contents?.lists.find(({ endpoint }) => endpoint === name);
    const objective = hours[name];
    return {
      resource: name,
      at: read?.verified_at ?? null,
      objectiveMinutes: objective === undefined ? null : objective * 60,
    };
  });
}

const minuteMs = 60_000;
const sliceMinutes = 10;
const slices = 36;

function budgetOf(setup: Setup, written: readonly Spent[], live: readonly Spent[]): Budget {
  const { requests: limit, windowMs } = setup.config.rateLimit;
  const sliceMs = sliceMinutes * minuteMs;
  const now = (setup.clock ?? systemClock).now();
  const first = (Math.floor(now / sliceMs) - slices + 1) * sliceMs;
  const found = Array.from({ length: slices }, (_, index) => ({
    from: iso(first + index * sliceMs),
    requests: 0,
    rateLimited: 0,
  }));
  // What was published in the middle of a minute has a part of it, and what this process saw has its own alone.
  const minutes = new Map<number, Spent>();
  for (const one of [...written, ...live]) {
    const other = minutes.get(one.minute);
    if (!other || one.requests > other.requests) minutes.set(one.minute, one);
  }
  for (const { minute, requests, rate_limited } of minutes.values()) {
    const slice = found[Math.floor((minute - first) / sliceMs)];
    if (!slice) continue;
    slice.requests += requests;
    slice.rateLimited += rate_limited;
  }
  return { held: heldNow(setup), limit, windowMs, slices: found, sliceMinutes };
}

/** Requests of this process that no snapshot has yet, by the minute. */
export class LiveSpending {
  readonly #clock: Clock;
  readonly #minutes = new Map<number, { minute: number; requests: number; rate_limited: number }>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  attempt({ status }: { readonly status?: number | undefined }): void {
    const now = this.#clock.now();
    const minute = Math.floor(now / minuteMs) * minuteMs;
    const one = this.#minutes.get(minute) ?? { minute, requests: 0, rate_limited: 0 };
    this.#minutes.set(minute, one);
    one.requests += 1;
    if (status === 429) one.rate_limited += 1;
    const oldest = now - slices * sliceMinutes * minuteMs;
    for (const key of this.#minutes.keys()) if (key < oldest) this.#minutes.delete(key);
  }

  get spent(): readonly Spent[] {
    return [...this.#minutes.values()];
  }
}

/** A reading that takes longer is given up, and the last facts stand. */
const deadlineMs = 15_000;

/**
 * Reads facts as often as one likes: the files are read again only when they have changed, and never twice at a time.
 * Rejects with a StorageError when they take too long.
 */
export function factsReader(setup: Setup, live: LiveSpending): () => Promise<Facts> {
  const clock = setup.clock ?? systemClock;
  let last: { state: string; known: Known } | undefined;
  let reading: Promise<Known> | undefined;

  async function read(): Promise<Known> {
    const state = stateOf(setup.config.dataDir);
    if (last?.state !== state) last = { state, known: await readKnown(setup) };
    const { known } = last;
    return { ...known, status: { ...known.status, ...readOutside(setup.config.dataDir) } };
  }

  return async () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    const over = new AbortController();
    const late = clock.sleep(deadlineMs, over.signal).then(() => {
      throw new StorageError(`reading signals.duckdb has taken longer than ${deadlineMs / 1000} s`);
    });
    late.catch(() => undefined);
    try {
      return factsOf(setup, await Promise.race([reading, late]), live.spent);
    } finally {
      over.abort();
    }
  };
}

/** Changes as soon as what is read does. */
function stateOf(dataDir: string): string {
  return [filesOf(dataDir).published, journalPath(dataDir)]
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found ? `${found.ino} ${found.size} ${found.mtimeMs}` : '-';
    })
    .join(', ');
}
