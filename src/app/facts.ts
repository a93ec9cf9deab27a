import { statSync } from 'node:fs';
import { systemClock } from '../base/clock.js';
import { StorageError } from '../base/errors.js';
import { resources } from '../contract/resources.js';
import { journalPath } from '../push/queue/journal.js';
import { readQueue } from '../push/queue/overlay.js';
import type { Facts, Freshness } from '../serve/facts.js';
import { type Contents, readOutside, readStatus, type Spent, type Status } from '../warehouse/read/status.js';
import { filesOf } from '../warehouse/store/engine.js';
import { readingLimitsOf, type Setup } from './setup.js';
import { ask } from './snapshot.js';
import { budgetOf, type LiveSpending } from './spending.js';

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
