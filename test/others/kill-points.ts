import type { Moment } from '../support/killed-at.js';

export interface KillPoint {
  readonly name: string;
  readonly command: 'sync' | 'rebuild';
  /** An empty data directory, one of yesterday (a day has passed in the organization), or that with garbage as its live file. */
  readonly from: 'nothing' | 'yesterday' | 'garbage';
  readonly at: Moment;
  /** Whether the new snapshot is published by then; otherwise the old one must be unchanged, to the byte. */
  readonly publishes?: true;
  /** Whether the live file is compacted before it is published, however little of it is unused. */
  readonly compacts?: true;
  /** Whether every `npm run test:others` has it; the others come with KILL_RUNS. */
  readonly always?: true;
}

type Named = Omit<KillPoint, 'command' | 'from'>;

/** A new file gets all tables in one transaction, which copies them from the build, and one checkpoint. */
const migrations: readonly Named[] = [
  { name: 'migration: before BEGIN', at: { call: 'run', match: '^BEGIN', when: 'before' } },
  {
    name: 'migration: within the copy of the tables',
    at: { call: 'run', match: '^COPY FROM DATABASE prepared_tables', when: 'within', ms: 1 },
  },
  { name: 'migration: tables made, before COMMIT', at: { call: 'run', match: '^COMMIT', when: 'before' } },
  { name: 'migration: within COMMIT', at: { call: 'run', match: '^COMMIT', when: 'within', ms: 1 } },
  {
    name: 'migration: after COMMIT, before CHECKPOINT',
    at: { call: 'run', match: '^CHECKPOINT$', when: 'before' },
    always: true,
  },
  { name: 'migration: within CHECKPOINT', at: { call: 'run', match: '^CHECKPOINT$', when: 'within', ms: 2 } },
  { name: 'migration: after CHECKPOINT', at: { call: 'run', match: '^CHECKPOINT$', when: 'after' } },
];

const firstPull: readonly Named[] = [
  {
    name: 'first batch: after COMMIT',
    at: { call: 'run', match: '^COMMIT', nth: 2, when: 'after' },
  },
  {
    name: 'batch within a first pull: before COMMIT',
    at: { call: 'run', match: '^COMMIT', nth: 5, when: 'before' },
  },
  {
    name: 'first publish: before the rename',
    at: { call: 'renameSync', match: 'signals.duckdb$', when: 'before' },
  },
];

const batches: readonly Named[] = [
  { name: 'run row: after it is begun', at: { call: 'run', match: '^INSERT INTO ops.runs', when: 'after' } },
  { name: 'batch: before BEGIN', at: { call: 'run', match: '^BEGIN', nth: 2, when: 'before' } },
  { name: 'batch: after BEGIN', at: { call: 'run', match: '^BEGIN', nth: 2, when: 'after' } },
  {
    name: 'batch: within the storing of documents',
    at: { call: 'run', match: 'INSERT INTO raw.documents', nth: 2, when: 'within' },
  },
  {
    name: 'batch: documents stored, state not yet',
    at: { call: 'run', match: 'INSERT INTO raw.documents', nth: 2, when: 'after' },
  },
  { name: 'batch: before COMMIT', at: { call: 'run', match: '^COMMIT', nth: 2, when: 'before' } },
  { name: 'batch: within COMMIT', at: { call: 'run', match: '^COMMIT', nth: 2, when: 'within' } },
  {
    name: 'batch: a little later within COMMIT',
    at: { call: 'run', match: '^COMMIT', nth: 3, when: 'within', ms: 2 },
  },
  { name: 'batch: after COMMIT', at: { call: 'run', match: '^COMMIT', nth: 3, when: 'after' } },
  {
    name: 'batch: within the CHECKPOINT after a COMMIT',
    at: { call: 'run', match: '^CHECKPOINT$', nth: 2, when: 'within', ms: 10, foldsLog: true },
    always: true,
  },
  {
    name: 'batch: after the CHECKPOINT after a COMMIT',
    at: { call: 'run', match: '^CHECKPOINT$', nth: 2, when: 'after', foldsLog: true },
  },
  {
    name: 'spending log: before an append',
    at: { call: 'writeSync', match: 'spending.log$', nth: 9, when: 'before' },
  },
  {
    name: 'spending log: after an append',
    at: { call: 'writeSync', match: 'spending.log$', nth: 14, when: 'after' },
  },
];

const publishing: readonly Named[] = [
  {
    name: 'run row: before it is finished',
    at: { call: 'run', match: '^UPDATE ops.runs SET outcome = \\$outcome', when: 'before' },
  },
  {
    name: 'run row: after it is finished',
    at: { call: 'run', match: '^UPDATE ops.runs SET outcome = \\$outcome', when: 'after' },
  },
  {
    name: 'publish: within the derived tables',
    at: { call: 'run', match: '^DROP TABLE temp.projected; DROP TABLE temp.compared', nth: 2, when: 'after' },
  },
  {
    name: 'publish: after ATTACH',
    at: { call: 'run', match: '^ATTACH .* AS signals', when: 'after' },
  },
  {
    name: 'publish: before the copy of the views',
    at: { call: 'run', match: '^COPY FROM DATABASE prepared_views', when: 'before' },
  },
  {
    name: 'publish: within the copy of the views',
    at: { call: 'run', match: '^COPY FROM DATABASE prepared_views', when: 'within', ms: 1 },
  },
  {
    name: 'publish: after the copy of the views',
    at: { call: 'run', match: '^COPY FROM DATABASE prepared_views', when: 'after' },
  },
  {
    name: 'publish: within CHECKPOINT',
    at: { call: 'run', match: '^CHECKPOINT signals', when: 'within', ms: 20 },
  },
  { name: 'publish: after DETACH', at: { call: 'run', match: '^DETACH signals', when: 'after' } },
  { name: 'publish: before fsync', at: { call: 'fsyncSync', match: '.unfinished-signals', when: 'before' } },
  {
    name: 'publish: before the rename',
    at: { call: 'renameSync', match: 'signals.duckdb$', when: 'before' },
    always: true,
  },
  {
    name: 'publish: after the rename',
    at: { call: 'renameSync', match: 'signals.duckdb$', when: 'after' },
    publishes: true,
  },
  {
    name: 'publish: after the fsync of the directory',
    at: { call: 'fsyncSync', match: 'data$', when: 'after' },
    publishes: true,
  },
];

const compactSteps: readonly Named[] = [
  {
    name: 'compact: within COPY FROM DATABASE',
    at: { call: 'run', match: '^COPY FROM .* TO compacted', when: 'within', ms: 8 },
  },
  { name: 'compact: after CHECKPOINT', at: { call: 'run', match: '^CHECKPOINT compacted', when: 'after' } },
  { name: 'compact: before fsync', at: { call: 'fsyncSync', match: '.unfinished-compact', when: 'before' } },
  {
    name: 'compact: before the rename',
    at: { call: 'renameSync', match: 'compact.* -> .*worker.duckdb$', when: 'before' },
  },
  {
    name: 'compact: after the rename, both files open',
    at: { call: 'renameSync', match: 'compact.* -> .*worker.duckdb$', when: 'after' },
    always: true,
  },
  { name: 'compact: the old file closed', at: { call: 'run', match: '^USE compacted', when: 'after' } },
];

/** Nothing is published by then. */
const compacting = compactSteps.map((point): Named => ({ ...point, compacts: true }));

const closing: readonly Named[] = [
  { name: 'close: before', at: { call: 'close', when: 'before' }, publishes: true },
  { name: 'close: within', at: { call: 'close', when: 'within', ms: 10 }, publishes: true },
  { name: 'close: after', at: { call: 'close', when: 'after' }, publishes: true },
];

const restoring: readonly Named[] = [
  { name: 'restore: before the copy', at: { call: 'copyFileSync', match: 'restore', when: 'before' } },
  {
    name: 'restore: copied, before fsync',
    at: { call: 'fsyncSync', match: 'unfinished-restore', when: 'before' },
  },
  { name: 'restore: before it is moved aside', at: { call: 'renameSync', match: 'broken', when: 'before' } },
  {
    name: 'restore: moved aside, nothing in its place',
    at: { call: 'renameSync', match: 'restore.* -> .*worker.duckdb$', when: 'before' },
    always: true,
  },
  {
    name: 'restore: after the rename',
    at: { call: 'renameSync', match: 'restore.* -> .*worker.duckdb$', when: 'after' },
  },
];

const rebuilding: readonly Named[] = [
  {
    name: 'rebuild: a table emptied',
    at: { call: 'run', match: '^DELETE FROM main."topics"', when: 'after' },
  },
  {
    name: 'rebuild: before a COMMIT',
    at: { call: 'run', match: '^COMMIT', nth: 12, when: 'before' },
  },
  { name: 'rebuild: after a COMMIT', at: { call: 'run', match: '^COMMIT', nth: 20, when: 'after' } },
  {
    name: 'rebuild: within CHECKPOINT',
    at: { call: 'run', match: '^CHECKPOINT$', when: 'within', ms: 15 },
  },
  {
    name: 'rebuild: publish, before the rename',
    at: { call: 'renameSync', match: 'signals.duckdb$', when: 'before' },
  },
];

const all = (points: readonly Named[], command: KillPoint['command'], from: KillPoint['from']): KillPoint[] =>
  points.map((point) => ({ ...point, command, from }));

/** Every commit point of the program: where something becomes durable, or is half done for a moment. */
export const killPoints: readonly KillPoint[] = [
  ...all([...migrations, ...firstPull], 'sync', 'nothing'),
  ...all([...batches, ...publishing, ...compacting, ...closing], 'sync', 'yesterday'),
  ...all(restoring, 'sync', 'garbage'),
  ...all(rebuilding, 'rebuild', 'yesterday'),
];
