import type { Api } from '../api/client.js';
import type { Attempt } from '../api/events.js';
import { followAttempts } from '../api/follow-attempts.js';
import { recordOf } from '../api/record.js';
import type { Clock } from '../base/clock.js';
import { UsageError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { RunObserver } from '../base/observer.js';
import { Stop } from '../base/stop.js';
import { organization } from '../contract/service.js';
import { Batcher } from '../warehouse/load/batcher.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { Context } from './context.js';
import { Landing } from './landing/landing.js';
import { SchemaDrift } from './landing/schema-drift.js';
import { SeenContent } from './landing/seen-content.js';
import type { SyncOptions } from './report.js';
import { type Selection, select, selectable } from './resources.js';
import type { SyncSettings } from './settings.js';
import { Tally } from './tally.js';

/** The answer of whoami, which came before the warehouse was opened. */
export interface Identity {
  readonly organization: { readonly id: string; readonly name: string | null };
  /** The organization as the API said it. */
  readonly body: Record<string, unknown>;
  readonly arrivedAt: Date;
  /** The attempts that it took. */
  readonly attempts: readonly Attempt[];
}

export interface RunParts {
  readonly config: SyncSettings;
  readonly api: Api;
  readonly warehouse: Warehouse;
  readonly identity: Identity;
  readonly log: Log;
  readonly clock: Clock;
  readonly programVersion: string;
}

/** A run under way: everything that its steps and its end need, whatever way it ends. */
export interface Running {
  readonly parts: RunParts;
  readonly context: Context;
  readonly selection: Selection;
  readonly tally: Tally;
  readonly runId: string;
  readonly startedAt: Date;
}

/** Starts a run, does `work` in it, and lets go of what the run held; the row of the run is finished by `work`. */
export async function running<T>(
  parts: RunParts,
  command: 'sync' | 'plan',
  options: SyncOptions,
  observer: RunObserver,
  work: (running: Running) => Promise<T>,
): Promise<T> {
  const selection = checkedSelection(options.only);
  const stop = new Stop(options);
  const startedAt = new Date(parts.clock.now());
  const runId = await parts.warehouse.startRun({ command, startedAt, programVersion: parts.programVersion });
  const tally = new Tally();
  const batcher = batcherOf(parts, runId, tally);
  const seen = (attempt: Attempt) => {
    tally.attempt(attempt);
    batcher.record(recordOf(attempt));
  };
  const { maxRequests } = options;
  const leaveOff = followAttempts(parts.api, { earlier: parts.identity.attempts, seen, maxRequests, stop });
  const context: Context = {
    config: parts.config,
    api: parts.api,
    store: parts.warehouse,
    batcher,
    log: parts.log,
    clock: parts.clock,
    observer,
    stop: stop.signal,
    acceptDeletes: options.acceptDeletes ?? false,
    schemaDrift: new SchemaDrift(),
    seenContent: new SeenContent(),
    failures: [],
    shortHistories: new Set(),
    notes: [...restoredNote(parts.warehouse)],
  };
  try {
    return await work({ parts, context, selection, tally, runId, startedAt });
  } finally {
    leaveOff();
    stop.release();
  }
}

/** Whoever reads the summary has to know that what came after the snapshot is fetched again. */
function restoredNote({ restored }: Warehouse): string[] {
  if (!restored) return [];
  const instead = restored.snapshotFrom
    ? `the snapshot published ${restored.snapshotFrom.toISOString()} took its place`
    : 'there was no snapshot, so the warehouse started empty';
  const moved = restored.movedTo === null ? '' : ` and is now ${restored.movedTo}`;
  return [`worker.duckdb could not be opened (${restored.reason})${moved}; ${instead}`];
}

/** Stores the organization, as the API said it. */
export async function landOrganization({ parts: { identity }, context }: Running): Promise<void> {
  const landing = new Landing(identity.arrivedAt, context.schemaDrift);
  landing.item('whoami', organization, identity.body, { id: identity.organization.id, parentId: null });
  await context.batcher.add(landing);
}

/** What `--only` selects. Throws a UsageError with every name that is neither a resource nor an endpoint. */
export function checkedSelection(only: readonly string[] | undefined): Selection {
  const selection = select(only);
  if (selection.unknown.length === 0) return selection;
  const problems = selection.unknown.map((name) => ({
    setting: '--only',
    problem: `${name} is not a resource or endpoint`,
  }));
  throw new UsageError('There is nothing of that name to fetch.', problems, {
    hint: `There are: ${selectable.join(', ')}.`,
  });
}

/** Commits batches, and publishes between two of them when a long run has shown nothing for a while. */
function batcherOf({ clock, config, warehouse }: RunParts, runId: string, tally: Tally): Batcher {
  const every = config.sync.publishEveryMinutes * 60_000;
  let publishedAt = clock.monotonic();
  return new Batcher({
    runId,
    limits: config.sync.batch,
    load: async (batch) => {
      const loaded = await warehouse.load(batch);
      if (every > 0 && clock.monotonic() - publishedAt >= every) {
        await warehouse.publish();
        publishedAt = clock.monotonic();
      }
      return loaded;
    },
    onLoaded: (loaded, batch) => tally.loaded(loaded, batch),
  });
}
