import {
  appendFileSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.js';
import { systemClock } from '../../../src/base/clock.js';
import { createLog } from '../../../src/base/log.js';
import { Inbox, type InboxFile } from '../../../src/push/inbox.js';
import type { Warehouse } from '../../../src/warehouse/warehouse.js';
import { emptyDir } from '../warehouse/support.js';
import { Importing, settings, town } from './import/support.js';

let warehouse: Warehouse;
let importing: Importing;
let dataDir: string;
beforeAll(async () => {
  warehouse = await town();
});
beforeEach(async () => {
  importing = await Importing.on(warehouse);
  dataDir = emptyDir();
  for (const folder of ['done', 'rejected']) mkdirSync(join(dataDir, 'inbox', folder), { recursive: true });
});
afterAll(() => warehouse.close());

const log = createLog({ level: 'silent', pretty: false });
const inbox = (...names: string[]) => join(dataDir, 'inbox', ...names);
const drop = (name: string, text = 'topic_id,priority\nt1,default\n') => writeFileSync(inbox(name), text);
const names = (...folder: string[]) =>
  readdirSync(inbox(...folder), { withFileTypes: true })
    .flatMap((one) => (one.isDirectory() ? [] : [one.name]))
    .sort();
const textOf = (...path: string[]) => readFileSync(inbox(...path), 'utf8');

interface Meanwhile {
  /** While the folder is watched. */
  readonly watched?: () => void;
  /** While the changes are pushed. */
  readonly pushed?: () => void;
  readonly followMerges?: boolean;
}

/** One run over the drop folder, without the time that it would take. */
async function night(meanwhile: Meanwhile = {}): Promise<Record<string, InboxFile['outcome']>> {
  const files = await filesOfNight(meanwhile);
  return Object.fromEntries(files.map(({ name, outcome }) => [name, outcome]));
}

async function filesOfNight({ watched, pushed, followMerges }: Meanwhile): Promise<readonly InboxFile[]> {
  const clock: Clock = { ...systemClock, sleep: async () => watched?.() };
  const { queue } = importing;
  const push = { ...settings.push, ...(followMerges && { followMerges }) };
  const parts = {
    dataDir,
    queue,
    warehouse,
    settings: { ...settings, push },
    clock,
    log,
    requestedBy: 'kim',
  };
  const folder = new Inbox(parts);
  await folder.importAll();
  pushed?.();
  return folder.returnFiles();
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
      ...['.hidden.csv', '.~lock.list.xlsx#', '~$list.xlsx', '~WRL0003.tmp', 'list.csv~', '#list.csv#'],
      ...['list.csv.tmp', 'list.csv.part', 'list.xlsx.crdownload', 'list.csv.filepart', 'Thumbs.db'],
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
    expect(await night({ watched: write })).toEqual({
      'growing.csv': 'being_written',
      'same-size.csv': 'being_written',
    });
    expect(await night()).toEqual({ 'growing.csv': 'done', 'same-size.csv': 'done' });
  });

  it.runIf(process.platform === 'linux')('waits while a program has it open for writing', async () => {
    drop('open.csv', 'topic_id,prio');
    drop('read.csv');
    const [writing, reading] = [openSync(inbox('open.csv'), 'a'), openSync(inbox('read.csv'), 'r')];
    try {
      expect(await night()).toEqual({ 'open.csv': 'being_written', 'read.csv': 'done' });
      appendFileSync(writing, 'rity\nt1,default\n');
    } finally {
      for (const one of [writing, reading]) closeSync(one);
    }
    expect(await night()).toEqual({ 'open.csv': 'done' });
  });

  it('waits when it is empty, unless it has been so for an hour', async () => {
    drop('new.csv', '');
    drop('empty.csv', '');
    const before = new Date(Date.now() - 2 * 3_600_000);
    utimesSync(inbox('empty.csv'), before, before);
    expect(await night()).toEqual({ 'new.csv': 'being_written', 'empty.csv': 'rejected' });
  });

  it('is not reported when it is gone by then', async () => {
    drop('list.csv');
    expect(await night({ watched: () => rmSync(inbox('list.csv')) })).toEqual({});
  });

  it('that is replaced during the push stays for the next run, beside the result of what was imported', async () => {
    drop('list.csv');
    drop('gone.csv');
    const pushed = () => {
      drop('list.csv', 'topic_id,priority\nt2,default\n');
      rmSync(inbox('gone.csv'));
    };
    expect(await night({ pushed })).toEqual({ 'list.csv': 'done', 'gone.csv': 'done' });
    expect(names()).toEqual(['list.csv']);
    expect(names('done')).toEqual(['gone.csv', 'gone.result.csv', 'list.csv', 'list.result.csv']);
    expect(textOf('done', 'list.csv')).toContain('t1,default');
    await night();
    expect(textOf('done', 'list.2.csv')).toContain('t2,default');
  });
});

describe('a name that is taken', () => {
  it('gets a number, and a result replaces nothing', async () => {
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
      ...['list.2.csv', 'list.2.result.csv', 'list.3.csv', 'list.3.result.csv'],
      ...['list.result.csv', 'list.result.result.csv'],
    ]);
  });

  it('of a rejected file or of its reason gets one as well', async () => {
    writeFileSync(inbox('rejected', 'notes.txt.reason.txt'), 'mine');
    writeFileSync(inbox('rejected', 'bad.result.csv'), 'mine');
    drop('notes.txt');
    drop('bad.csv', 'topic_id,priority\nnope,high\n');
    await night();
    expect(textOf('rejected', 'notes.txt.reason.txt')).toBe('mine');
    expect(textOf('rejected', 'bad.result.csv')).toBe('mine');
    expect(existsSync(inbox('rejected', 'notes.2.txt.reason.txt'))).toBe(true);
    expect(textOf('rejected', 'bad.2.result.csv')).toContain('nope');
  });
});

describe('a file about a topic that was merged', () => {
  const sheet = 'topic_id,priority\nmerged,low\n';

  it('is rejected with the survivor, and with the command that changes it', async () => {
    writeFileSync(inbox('rejected', 'my plan.csv'), 'mine');
    drop('my plan.csv', sheet);
    const [file] = await filesOfNight({});
    const command = `signalhouse changes import '${inbox('rejected', 'my plan.2.csv')}' --follow-merges`;
    expect(file).toMatchObject({
      outcome: 'rejected',
      path: inbox('rejected', 'my plan.2.csv'),
      next: command,
    });
    expect(textOf('rejected', 'my plan.2.result.csv')).toContain(
      `was merged into t1 (Topic 1): change that topic instead, or run ${command}`,
    );
    expect(importing.queue.all()).toEqual([]);
  });

  it('changes the survivor where push.followMerges is set, and the result says so', async () => {
    drop('list.csv', sheet);
    const pushed = () => importing.settle('t1', 'applied', { remoteAfter: { priority: 'low' } });
    expect(await night({ followMerges: true, pushed })).toEqual({ 'list.csv': 'done' });
    expect(textOf('done', 'list.result.csv')).toContain(
      'merged,low,applied,"Merged (merged) was merged into Topic 1 (t1), which is changed instead"',
    );
  });
});
