import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { makeFolder, moveFile, privateMode, syncFile, whenFull } from '../base/atomic-file.js';
import { systemClock } from '../base/clock.js';
import { StorageError, UsageError } from '../base/errors.js';
import { countBy } from '../base/group-by.js';
import type { Log } from '../base/log.js';
import { count, counted, duration, moment } from '../base/units.js';
import { appendForgotten, openForgotten } from '../privacy/records.js';
import type { Change, Status } from '../push/change.js';
import { ChangeJournal, journalPath, readQueue } from '../push/queue.js';
import { type Store, storedEntitiesOf } from '../push/stored.js';
import { createDataDir, filesOf, type Limits, movedAsidePrefix, unfinished } from '../store/engine.js';
import { refuseWithoutRoom } from '../store/faults.js';
import { limitsOf } from '../store/memory.js';
import { refuseHeld, type SnapshotFacts, withSnapshotFile } from '../store/restore.js';
import { nameOf } from '../view/run.js';
import { countsTable, list, pairs, sections, some } from '../view/text.js';
import { command, text, toggle } from './command.js';
import { filesUnder } from './forget-files.js';
import { type Setup, setUp } from './setup.js';
import { withWarehouse } from './worker.js';

export const restore = command({
  usage: '<dir>',
  examples: [
    ['signalhouse restore /tmp/backup/var/lib/signalhouse', 'As restic restored it'],
    ['signalhouse restore /tmp/backup/data --dry-run', 'Check it, show its age'],
    ['signalhouse restore /tmp/backup/data --replace', 'Move what is there'],
  ],
  input: {
    dir: text.describe('The data directory as a backup program restored it'),
    dryRun: toggle.describe('Only check the backup and show what is in it'),
    replace: toggle.describe('Move existing files into a subfolder first'),
  },
  async run({ dir, dryRun, replace }, context) {
    const setup = await setUp(context);
    return restoreFrom(setup, dir, { dryRun, replace }).finally(() => setup.progress?.close());
  },
  show: restoreText,
});

function restoreText(report: RestoreReport): string {
  const { outcome, from, to, organization, asOf, ageMinutes, changes, mayHaveBeenSent, movedTo } = report;
  const age = `${moment(asOf)} (${duration(ageMinutes * 60_000)} ago)`;
  const notes = [...report.notes];
  if (mayHaveBeenSent > 0)
    notes.push(
      `${counted(mayHaveBeenSent, 'queued change')} may have been sent after the backup: the next push asks the API before it sends one`,
    );
  if (outcome === 'restored')
    notes.push('What happened in the API since then comes with the next signalhouse sync');
  return sections([
    [
      outcome === 'restored' ? `Restored ${to}` : `Nothing was changed: --dry-run of a restore to ${to}`,
      pairs([
        ['from', from],
        ['organization', organization && nameOf(organization)],
        ['as of', age],
        ['forgotten', report.forgotten === 0 ? null : `${counted(report.forgotten, 'request')} completed`],
        ['other files', count(report.files.length)],
        ['moved aside', movedTo],
      ]),
    ],
    ['Rows', countsTable('table', 'rows', report.rows)],
    ['Changes', countsTable('status', 'changes', changes as Record<string, number>)],
    ['Files', list(some(report.files))],
    ['Notes', list(notes)],
  ]);
}

/** `signalhouse restore`: a data directory from the copy that a backup program has kept of another one. */

export interface RestoreReport {
  readonly outcome: 'restored' | 'preview';
  readonly from: string;
  readonly to: string;
  readonly organization: SnapshotFacts['organization'];
  /** The end of the last run in the backup. */
  readonly asOf: string;
  readonly ageMinutes: number;
  readonly rows: SnapshotFacts['rows'];
  /** The queue, by status. */
  readonly changes: Readonly<Partial<Record<Status, number>>>;
  /** Queued changes that may have been sent after the backup: the next push asks the API before it sends one. */
  readonly mayHaveBeenSent: number;
  /** Requests to forget that the snapshot did not have. */
  readonly forgotten: number;
  /** Files that are copied in addition to the snapshot, relative to the data directory. */
  readonly files: readonly string[];
  /** Where the former content of the data directory is now; null where it was empty. */
  readonly movedTo: string | null;
  readonly notes: readonly string[];
}

/**
 * Checks that the parts of a backup belong together, copies them into the data directory, restores the live file from the
 * full snapshot, replays the journals and publishes. The snapshot is copied last: a data directory that has it has everything
 * else, and after a kill before that, the same command starts over.
 *
 * Queued changes may have been sent after the backup. The next push compares each with what the API has, under the key that it had:
 * it cannot tell one that was applied, and set back to exactly the value from before, from one that was not sent.
 */
async function restoreFrom(
  setup: Setup,
  dir: string,
  { dryRun, replace }: { readonly dryRun: boolean; readonly replace: boolean },
): Promise<RestoreReport> {
  const { config, log, clock = systemClock } = setup;
  const { dataDir } = config;
  const from = resolve(dir);
  refuseOverlap(from, dataDir);
  const found = await checkBackup(setup, from, replacedIn(dataDir));
  const isFresh = isEmpty(dataDir);
  if (!isFresh && !replace && !dryRun) {
    const problem = `${dataDir} has files; nothing was changed`;
    const hint =
      'Restore into an empty directory (--data-dir), or pass --replace to move what is there aside.';
    throw new UsageError('The data directory is not empty.', [{ setting: 'dataDir', problem }], { hint });
  }
  const notes = [...found.notes];
  if (dryRun && !isFresh)
    notes.push(`${dataDir} is not empty: restoring needs --replace, which moves what is there aside`);
  const waiting = found.files.filter((name) => /^inbox\/[^/]+$/.test(name)).length;
  if (waiting > 0)
    notes.push(
      `inbox/ has ${counted(waiting, 'sheet')} that waited: the next push imports them. Delete what was imported after the backup`,
    );
  const report = {
    from,
    to: dataDir,
    organization: found.organization,
    asOf: found.asOf,
    rows: found.rows,
    ageMinutes: Math.max(0, (clock.now() - Date.parse(found.asOf)) / 60_000),
    changes: countBy(found.changes, ({ status }) => status),
    mayHaveBeenSent: found.changes.filter(({ status }) => status === 'queued').length,
    forgotten: found.forgotten,
    files: found.files,
    notes,
  };
  if (dryRun) return { ...report, outcome: 'preview', movedTo: null };
  await refuseHeld(dataDir, limitsOf(config), log);
  createDataDir(dataDir);
  refuseWithoutRoom(dataDir, neededBytes(from, found), {
    work: 'restoring',
    hint: 'Free some space, or restore into a directory on another disk (--data-dir).',
  });
  const { restoring, recovery } = filesOf(dataDir);
  if (!isFresh) writeFileSync(restoring, '', { mode: privateMode });
  const movedTo = isFresh ? null : moveAside(dataDir, new Date(clock.now()));
  try {
    // Files that a killed restore has copied, and traces.
    for (const name of namesIn(dataDir).filter((one) => !notOurs.test(one) || traces.test(one)))
      rmSync(join(dataDir, name), { recursive: true, force: true });
    // A directory that has it was empty before: a restore that was killed starts over.
    copyFile(found.snapshot, restoring);
    for (const name of found.files) copyFile(join(from, name), join(dataDir, name));
    if (found.newer.length > 0) new ChangeJournal(config, log).append(found.newer);
    for (const line of found.requests) appendForgotten(dataDir, line);
    moveFile(restoring, recovery);
  } catch (error) {
    throw whenFull(error, dataDir);
  }
  // Opening it restores the live file, replays the journals and completes requests to forget.
  await withWarehouse(setup, {}, (warehouse) => warehouse.publish());
  return { ...report, outcome: 'restored', movedTo };
}

type Backup = NonNullable<Awaited<ReturnType<typeof readBackup>>>;

/** A snapshot of a backup with the lines of its journals and of the replaced ones; null for one that is not full. */
function readBackup(
  { config, log }: Setup,
  from: string,
  replaced: readonly string[],
  snapshot: string,
  scratch: string,
) {
  const limits = limitsOf(config);
  return withSnapshotFile(snapshot, limits, scratch, async (session, facts) => {
    if (!facts.isFull) return null;
    const changes = new Map((await readQueue(session, { dataDir: from }, log)).map((one) => [one.id, one]));
    await refuseForeignQueue(session, [...changes.values()]);
    const newer = new Map<string, Change>();
    const same: string[] = [];
    for (const dataDir of replaced) {
      const queue = await replacedQueue(dataDir, facts.organization, { limits, log, scratch });
      if (queue) same.push(dataDir);
      for (const change of queue ?? []) {
        if (change.revision <= (changes.get(change.id)?.revision ?? 0)) continue;
        changes.set(change.id, change);
        newer.set(change.id, change);
      }
    }
    const { missing } = await openForgotten(session, from, ...same);
    const notes = existsSync(journalPath(from)) ? [] : [withoutJournal];
    const inBackup = new Set((await openForgotten(session, from)).missing.map(({ record }) => record.id));
    const requests = missing.filter(({ record }) => !inBackup.has(record.id));
    if (newer.size + requests.length > 0)
      notes.push(
        `the data directory is newer than the backup: ${counted(newer.size, 'change')} and ${counted(requests.length, 'request')} to forget are kept from it`,
      );
    const asOf = facts.asOf ?? statSync(snapshot).mtime.toISOString();
    const files = filesIn(from);
    return {
      ...facts,
      snapshot,
      asOf,
      changes: [...changes.values()],
      newer: [...newer.values()],
      requests,
      forgotten: missing.length,
      files,
      notes,
    };
  });
}

/** The files that a restore replaces: the data directory, and those that earlier ones moved aside. */
function replacedIn(dataDir: string): string[] {
  const aside = namesIn(dataDir).filter((name) => name.startsWith(movedAsidePrefix));
  return [dataDir, ...aside.map((name) => join(dataDir, name))];
}

/**
 * The queue of a directory that is replaced: of its journal alone where its snapshot cannot be opened, which may be why it is
 * replaced. Null where it belongs to another organization, whose changes prove nothing here.
 */
async function replacedQueue(
  dataDir: string,
  owner: SnapshotFacts['organization'],
  { limits, log, scratch }: { limits: Limits; log: Log; scratch: string },
): Promise<Change[] | null> {
  const [snapshot] = snapshotsIn(dataDir);
  const queueOf = (session: Store | null) => readQueue(session, { dataDir }, log);
  try {
    if (snapshot)
      return await withSnapshotFile(snapshot, limits, scratch, async (session, { isFull, organization }) => {
        const isForeign = owner && organization && owner.id !== organization.id;
        return isForeign ? null : queueOf(isFull ? session : null);
      });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
  return queueOf(null);
}

/** Throws where the queue is of another warehouse: the snapshot has none of the topics, companies and people of its changes. */
async function refuseForeignQueue(snapshot: Store, changes: readonly Change[]): Promise<void> {
  const storedOf = await storedEntitiesOf(snapshot, changes);
  if (changes.length === 0 || changes.some((change) => storedOf(change) !== undefined)) return;
  throw new StorageError(
    'the queue belongs to another warehouse: its changes are about topics and companies that the snapshot does not have',
    { hint: 'Restore the snapshot and the changes.journal of one backup of one data directory.' },
  );
}

const withoutJournal =
  'there is no changes.journal: changes that were queued after the publication are not in the backup';

/** Opens the full snapshot of a backup and reads its journals. Throws where one is missing, damaged, or of another warehouse. */
async function checkBackup(setup: Setup, from: string, replaced: readonly string[]): Promise<Backup> {
  const snapshots = snapshotsIn(from);
  if (snapshots.length === 0) throw noSnapshot(from);
  const scratch = mkdtempSync(join(tmpdir(), 'signalhouse-restore-'));
  try {
    const found: Backup[] = [];
    for (const snapshot of snapshots) {
      const one = await readBackup(setup, from, replaced, snapshot, scratch);
      if (one) found.push(one);
    }
    const [best, other] = found.sort((a, b) => (a.asOf < b.asOf ? 1 : -1));
    if (!best) throw notFull(from);
    if (other?.organization && best.organization && other.organization.id !== best.organization.id)
      throw new StorageError(
        `${basename(best.snapshot)} and ${basename(other.snapshot)} in ${from} belong to different organizations (${best.organization.id}, ${other.organization.id})`,
        { hint: 'Restore the files of one backup of one data directory.' },
      );
    return best;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function noSnapshot(from: string): UsageError {
  let problem = existsSync(from) ? 'has neither signals.duckdb nor recovery.duckdb' : 'does not exist';
  if (existsSync(from) && !isFolder(from)) problem = 'is a file';
  const hint =
    'Pass the copy of the data directory. Backup programs restore it under its whole path: /tmp/backup/var/lib/signalhouse.';
  return new UsageError('There is nothing to restore.', [{ setting: from, problem }], { hint });
}

function snapshotsIn(dataDir: string): string[] {
  const { published, recovery } = filesOf(dataDir);
  return [recovery, published].filter((path) => existsSync(path) && statSync(path).isFile());
}

function isFolder(path: string): boolean {
  return statSync(path).isDirectory();
}

function notFull(from: string): StorageError {
  const { published, recovery } = filesOf(from);
  return new StorageError(`${published} leaves out or masks a part of the data, and ${recovery} is missing`, {
    hint: 'Restore recovery.duckdb from the backup as well, and back it up where publish leaves anything out.',
  });
}

function refuseOverlap(from: string, dataDir: string): void {
  const real = (path: string) => (existsSync(path) ? realpathSync(path) : resolve(path));
  const [one, other] = [`${real(from)}/`, `${real(dataDir)}/`];
  if (!one.startsWith(other) && !other.startsWith(one)) return;
  throw new UsageError('The backup and the data directory must be different folders.', [
    { setting: 'dir', problem: `${from} and the data directory ${dataDir} are in one another` },
  ]);
}

/** Files that the worker makes again, or that belong to the old machine: not part of a backup. */
const left =
  /^(\..*|worker\..*|.*\.duckdb(\.wal.*)?|published\.json|spending\.log|lost\+found|before-restore-.*)$/;

/** The files to copy in addition to the snapshot, journals first. Published files are made again, as the settings here say. */
function filesIn(from: string): string[] {
  const names = filesUnder(from)
    .map((path) => relative(from, path))
    .filter((name) => !left.test(name.split('/')[0] ?? ''));
  const isJournal = (name: string) => Number(/^[^/]*\.(journal|salt)$/.test(name));
  return names.sort((a, b) => isJournal(b) - isJournal(a) || (a < b ? -1 : 1));
}

/** Not content of a data directory: a file system's own folder, hidden files, files that were moved aside. */
const notOurs = /^(\..*|lost\+found|before-restore-.*)$/;
/** Files that a killed process or an attempt to sync leaves in an empty directory. */
const traces = new RegExp(`^(\\${unfinished}.*|spending\\.log|worker\\.pid)$`);

function namesIn(dataDir: string): string[] {
  return existsSync(dataDir) && isFolder(dataDir) ? readdirSync(dataDir) : [];
}

/** Whether there is nothing in it, or only what a restore that was killed has copied: until then, its mark is empty. */
function isEmpty(dataDir: string): boolean {
  const names = namesIn(dataDir);
  return (
    (statSync(filesOf(dataDir).restoring, { throwIfNoEntry: false })?.size ?? 0) > 0 ||
    names.every((name) => notOurs.test(name) || traces.test(name))
  );
}

/** Moves everything into a folder of the data directory, which may be a disk of its own; returns its path. */
function moveAside(dataDir: string, now: Date): string {
  const stamp = now.toISOString().replaceAll(/[-:]/g, '').replace(/\..*/, 'Z');
  const aside = join(dataDir, `${movedAsidePrefix}${stamp}`);
  mkdirSync(aside, { mode: 0o700 });
  for (const name of namesIn(dataDir).filter((one) => !notOurs.test(one)))
    renameSync(join(dataDir, name), join(aside, name));
  return aside;
}

/** Copies a file for this user alone, whatever a backup program made of its permissions, with its time. */
function copyFile(from: string, to: string): void {
  makeFolder(dirname(to));
  copyFileSync(from, to);
  chmodSync(to, privateMode);
  syncFile(to);
  const { atime, mtime } = statSync(from);
  utimesSync(to, atime, mtime);
}

/** The snapshot is there three times for a moment: as it was copied, as the live file, and as the next publication. */
function neededBytes(from: string, { snapshot, files }: Backup): number {
  const size = (path: string) => statSync(path).size;
  return size(snapshot) * 3 + files.reduce((sum, name) => sum + size(join(from, name)), 0);
}
