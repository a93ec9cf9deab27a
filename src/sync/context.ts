import type { Settings } from '../config/schema.js';
import { resources as builtIn, type Child, type Resources } from '../contract/resources.js';
import type { Coverage, DocumentKey } from '../load/batch.js';
import type { Warehouse } from '../load/warehouse.js';
import { Known } from '../run/known.js';
import type { RunContext, RunParts, RunSettings } from '../run/lifecycle.js';
import type { Failure } from '../run/tally.js';
import type { Retention } from '../store/runs.js';
import type { SyncOptions } from './report.js';
import { selectResources } from './selection.js';
import { ListedItems } from './staging/listed.js';
import { SchemaDrift } from './staging/schema-drift.js';
import { SeenContent } from './staging/seen-content.js';

/** The settings that a sync uses. */
export interface SyncSettings {
  readonly rateLimit: Settings['rateLimit'];
  readonly sync: Pick<Settings['sync'], 'recheck' | 'personGroups' | 'deletes'>;
  readonly retention: Retention;
  readonly serve?: Pick<Settings['serve'], 'freshness'>;
  readonly tuning?: RunSettings['tuning'] & { readonly maxItemBytes?: number };
}

/** Seconds after which a child is fetched again, changed or not. */
export function maxAgeSeconds(
  { maxAgeDays }: Child,
  { sync }: { readonly sync: Pick<SyncSettings['sync'], 'recheck'> },
): number {
  return maxAgeDays * sync.recheck * 86_400;
}

/**
 * What is not concluded from an answer. An answer removes only what it proves gone: where it is not complete, or says less
 * than its parent's counters, what it does not name stays stored, and it is asked for again: first at the end of the run,
 * then with the next run, then at growing intervals.
 */
export interface Doubt {
  /**
   * `incomplete`: it says that it has more. `contradicted`: the parent counts more. `emptied`: it names nothing where
   * something was stored, and nothing counts how much there is. `rejected`: something in it could not be stored. `short`:
   * the parent counts something, the answer names nothing, and nothing was stored; or it counts new messages, and nothing is new.
   */
  readonly kind: 'incomplete' | 'contradicted' | 'emptied' | 'rejected' | 'short';
  readonly message: string;
}

/** A doubt about the answer of this run about one child. */
export interface OpenDoubt extends Doubt {
  readonly child: Child;
  readonly entityId: string;
  /** `unconfirmed` until the answer was read once more; `known` when an earlier run has said so. */
  readonly stage: 'unconfirmed' | 'new' | 'known';
}

/** Conversations that left the last list that had them, and the state of that list once they are removed. */
interface HeldBack {
  readonly documents: readonly DocumentKey[];
  readonly coverage: Coverage;
}

export interface SyncParts extends RunParts<SyncSettings> {
  /** The lists and children that there are; the program's own unless a test adds one. */
  readonly resources?: Resources;
  /** Drawn from [0, 1): which details are checked. */
  readonly random?: () => number;
}

/** What every step of one sync has at hand. */
export interface Context extends RunContext<SyncSettings> {
  readonly resources: Resources;
  readonly acceptDeletes: boolean;
  /** Whether it reads every child: not with `--only`. */
  readonly readsAll: boolean;
  /** Whether a sync before this one has left nothing that was never fetched. */
  isPulled: boolean;
  readonly random: () => number;
  /** When it began, by the monotonic clock. */
  readonly startedMs: number;
  readonly caps: Pick<SyncOptions, 'maxRequests' | 'maxMinutes'>;
  /** The most scans of a list until one is verified; scan.ts says how many unless a test does. */
  readonly scanAttempts?: number;
  /** Things that went wrong while the rest went on. */
  readonly failures: Failure[];
  /** What is known of the items of lists and of their children, as it is committed. */
  readonly known: Known;
  /** Which items of lists are stored as they were returned. */
  readonly listed: ListedItems;
  /** What the items of this run look like. */
  readonly schemaDrift: SchemaDrift;
  /** What its conversations contained when they were last staged. */
  readonly seenContent: SeenContent;
  /** Histories for which an answer contained fewer records than it counts. */
  readonly shortHistories: Set<string>;
  /** What answers of this run do not prove, by child and entity. */
  readonly doubts: Map<string, OpenDoubt>;
  /** What answers of this run show to be gone as far as they know, by child and entity: removed at the end of a run that read all. */
  readonly heldBack: Map<string, HeldBack>;
  /** The conversations that lists have lost in this run, by child and entity. */
  readonly lost: Map<string, readonly DocumentKey[]>;
  /** The conversations in lists of deleted entities, and how many answers had been added when they were read. */
  gone: { readonly added: number; readonly documents: readonly DocumentKey[] } | null;
  /** Details that were older than the item of their list. */
  readonly lagging: Set<string>;
  /** Lists of conversations that changed, and had nothing that their topics did not bring. */
  readonly explained: Set<string>;
  /** Lists of conversations that changed each time while they were read. */
  readonly unsettledConversations: Set<string>;
}

/** The context of a sync, or of a plan, which reads the same lists. */
export function syncContext(
  run: RunContext<SyncSettings>,
  { warehouse, resources = builtIn, random = Math.random }: SyncParts,
  options: SyncOptions,
): Context {
  run.notes.push(...restoredNote(warehouse), ...remadeNote(warehouse));
  const known = new Known(resources);
  return {
    ...run,
    resources,
    acceptDeletes: options.acceptDeletes ?? false,
    readsAll: selectResources(options.only, resources).children.length === resources.children.length,
    isPulled: false,
    caps: options,
    random,
    startedMs: run.clock.monotonic(),
    failures: [],
    known,
    listed: new ListedItems(known),
    schemaDrift: new SchemaDrift(run.config.tuning),
    seenContent: new SeenContent(),
    shortHistories: new Set(),
    doubts: new Map(),
    heldBack: new Map(),
    lost: new Map(),
    gone: null,
    lagging: new Set(),
    explained: new Set(),
    unsettledConversations: new Set(),
  };
}

/** Tells the reader of the summary that tables were made again from what was stored. */
function remadeNote({ remade }: Warehouse): string[] {
  return remade.length === 0
    ? []
    : [`this version declares tables otherwise: made again from the stored documents: ${remade.join(', ')}`];
}

/** Tells the reader of the summary that everything after the snapshot is fetched again. */
function restoredNote({ restored }: Warehouse): string[] {
  if (!restored) return [];
  const instead = restored.snapshotFrom
    ? `the snapshot published ${restored.snapshotFrom.toISOString()} took its place`
    : 'there was no snapshot, so the warehouse started empty';
  const what =
    restored.movedTo === null
      ? 'there was no worker.duckdb'
      : `worker.duckdb could not be opened (${restored.reason}) and is now ${restored.movedTo}`;
  return [`${what}; ${instead}`];
}
