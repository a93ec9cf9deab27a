import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.js';
import { systemClock } from '../../../src/base/clock.js';
import { createLog } from '../../../src/base/log.js';
import { Inbox, type InboxFile } from '../../../src/push/inbox.js';
import { emptyDir } from '../../support/open-warehouse.js';
import { importingOfFile, settings } from './import/support.js';

const importing = importingOfFile();
let dataDir: string;
beforeEach(() => {
  dataDir = emptyDir();
  for (const folder of ['done', 'rejected']) mkdirSync(join(dataDir, 'inbox', folder), { recursive: true });
});

/** What happens while the folder is watched. */
let watched: () => void = () => undefined;
const clock: Clock = { ...systemClock, sleep: async () => watched() };
const log = await createLog({ level: 'silent', pretty: false });
const inbox = (...names: string[]) => join(dataDir, 'inbox', ...names);
const drop = (name: string, text = 'topic_id,priority\nt1,default\n') => writeFileSync(inbox(name), text);
const names = (...folder: string[]) =>
  readdirSync(inbox(...folder), { withFileTypes: true })
    .flatMap((one) => (one.isDirectory() ? [] : [one.name]))
    .sort();
const textOf = (...path: string[]) => readFileSync(inbox(...path), 'utf8');

/** One run over the drop folder, without the time that it would take; `pushed` happens while the changes are pushed. */
async function night(pushed?: () => void): Promise<Record<string, InboxFile['outcome']>> {
  const files = await filesOfNight(pushed);
  return Object.fromEntries(files.map(({ name, outcome }) => [name, outcome]));
}

async function filesOfNight(pushed?: () => void): Promise<readonly InboxFile[]> {
  const folder = await imported();
  pushed?.();
  return folder.returnFiles();
}

async function imported(): Promise<Inbox> {
  const { queue, warehouse } = importing;
  const folder = new Inbox({ dataDir, queue, warehouse, settings, clock, log });
  await folder.importAll();
  return folder;
}

describe('a file that cannot be imported', () => {
  it('is rejected with its reason, whatever it is', async () => {
    for (const name of ['notes.txt', 'old.xls', 'no ending', 'Plan.DOCX']) drop(name, 'anything');
    symlinkSync('/etc/hostname', inbox('link.csv'));
    expect(await night()).toEqual({
      'notes.txt': 'rejected',
      'old.xls': 'rejected',
      'no ending': 'rejected',
      'Plan.DOCX': 'rejected',
      'link.csv': 'rejected',
    });
    expect(names()).toEqual([]);
    expect(names('rejected')).toHaveLength(10);
    expect(textOf('rejected', 'notes.txt')).toBe('anything');
    expect(textOf('rejected', 'notes.txt.reason.txt')).toMatch(/^notes\.txt ends in \.txt.*\.xlsx.*\.csv/);
    expect(textOf('rejected', 'no ending.reason.txt')).toContain('no ending has no ending');
    expect(textOf('rejected', 'link.csv.reason.txt')).toContain('is not a regular file');
  });

  it('is left alone when a program only keeps it there for a while', async () => {
    const kept = [
      '.hidden.csv',
      '.~lock.list.xlsx#',
      '~$list.xlsx',
      '~WRL0003.tmp',
      'list.csv~',
      '#list.csv#',
      'list.csv.tmp',
      'list.csv.part',
      'list.xlsx.crdownload',
      'list.csv.filepart',
      'Thumbs.db',
    ];
    for (const name of kept) drop(name);
    expect(await night()).toEqual({});
    expect(names()).toEqual(kept.sort());
  });
});

describe('a file that is not complete', () => {
  it('waits when it changes while the folder is watched, even if its times say nothing', async () => {
    drop('growing.csv');
    drop('same-size.csv');
    const longAgo = new Date('2020-01-01');
    const changedAt = () => lstatSync(inbox('same-size.csv')).ctimeMs;
    const write = () => {
      appendFileSync(inbox('growing.csv'), 't2,default\n');
      // The clock of a file system has ticks of some milliseconds.
      for (const before = changedAt(); before === changedAt(); )
        drop('same-size.csv', 'topic_id,priority\nt2,default\n');
      for (const name of ['growing.csv', 'same-size.csv']) utimesSync(inbox(name), longAgo, longAgo);
    };
    for (const name of names()) utimesSync(inbox(name), longAgo, longAgo);
    watched = write;
    expect(await night()).toEqual({
      'growing.csv': 'being_written',
      'same-size.csv': 'being_written',
    });
    watched = () => undefined;
    expect(await night()).toEqual({ 'growing.csv': 'done', 'same-size.csv': 'done' });
  });

  it('that is replaced during the push stays for the next run, beside the result of what was imported', async () => {
    drop('list.csv');
    drop('gone.csv');
    const pushed = () => {
      drop('list.csv', 'topic_id,priority\nt2,default\n');
      rmSync(inbox('gone.csv'));
    };
    expect(await night(pushed)).toEqual({ 'list.csv': 'done', 'gone.csv': 'done' });
    expect(names()).toEqual(['list.csv']);
    expect(names('done')).toEqual(['gone.csv', 'gone.result.csv', 'list.csv', 'list.result.csv']);
    expect(textOf('done', 'list.csv')).toContain('t1,default');
    await night();
    expect(textOf('done', 'list.2.csv')).toContain('t2,default');
  });
});

it('a name that is taken gets a number, and a result replaces nothing', async () => {
  // A person edits a result and drops it; then its name is taken when the first list comes back.
  drop('list.result.csv');
  await night();
  const mine = textOf('done', 'list.result.csv');
  for (const _ of [1, 2]) {
    drop('list.csv');
    await night();
  }
  expect(textOf('done', 'list.result.csv')).toBe(mine);
  expect(names('done')).toEqual([
    'list.2.csv',
    'list.2.result.csv',
    'list.3.csv',
    'list.3.result.csv',
    'list.result.csv',
    'list.result.result.csv',
  ]);
});

it.each([
  ['prio (1).csv', 'prio.csv'],
  ['prio.csv', 'prio (1).csv'],
])('of two files of one person the one that was saved later counts: %s', async (newer, older) => {
  mkdirSync(inbox('anna'));
  drop(`anna/${newer}`, 'topic_id,priority\nt1,high\n');
  drop(`anna/${older}`, 'topic_id,priority\nt1,low\n');
  const now = Date.now() / 1000;
  utimesSync(inbox('anna', older), now, now - 3600);
  await imported();
  expect(importing.queue.all().map(({ status, wanted }) => [status, wanted.priority])).toEqual([
    ['superseded', 'low'],
    ['queued', 'high'],
  ]);
});

describe('one bad file', () => {
  const good = 'topic_id,priority\nt1,high\n';
  const applied = () => importing.settle('t1', 'applied', { remoteAfter: { priority: 'high' } });

  it('of any kind harms only itself', async () => {
    const target = join(dataDir, 'target');
    writeFileSync(target, 'mine', { mode: 0o644 });
    symlinkSync('nowhere', inbox('broken.csv'));
    symlinkSync(target, inbox('link.csv'));
    mkdirSync(inbox('folder.csv'));
    execFileSync('mkfifo', [inbox('pipe.csv')]);
    drop('zzz.csv', good);
    expect(await night(applied)).toEqual({
      'broken.csv': 'rejected',
      'link.csv': 'rejected',
      'folder.csv': 'rejected',
      'pipe.csv': 'rejected',
      'zzz.csv': 'done',
    });
    expect(names()).toEqual([]);
    expect(lstatSync(target).mode & 0o777).toBe(0o644);
  });

  it('whose result cannot be written stays, and is handed back by the next run', async () => {
    rmSync(inbox('done'), { recursive: true });
    drop('done', 'a file where a folder should be');
    rmSync(inbox('rejected'), { recursive: true });
    drop('rejected', 'another');
    drop('list.csv', good);
    expect(await night(applied)).toEqual({
      done: 'failed',
      'list.csv': 'failed',
      rejected: 'failed',
    });
    expect(names()).toEqual(['done', 'list.csv', 'rejected']);
    for (const name of ['done', 'rejected']) rmSync(inbox(name));
    expect(await night()).toEqual({ 'list.csv': 'done' });
    expect(textOf('done', 'list.result.csv')).toContain('t1,Topic 1,applied');
    expect(importing.queue.all()).toHaveLength(1);
  });

  it.runIf(process.platform === 'linux')('whose name is not UTF-8 is reported', async () => {
    writeFileSync(Buffer.concat([Buffer.from(inbox('Gr')), Buffer.of(0xfc), Buffer.from('n.csv')]), good);
    drop('list.csv', good);
    const files = await filesOfNight(applied);
    expect(files.map(({ outcome }) => outcome).sort()).toEqual(['done', 'failed']);
    expect(files.find(({ outcome }) => outcome === 'failed')?.reason).toContain('rename the file');
  });
});
