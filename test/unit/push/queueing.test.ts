import { randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import type { Change } from '../../../src/push/change.js';
import { cancel, retry } from '../../../src/push/decide.js';
import { journalPath, Queue } from '../../../src/push/queue.js';
import { isSamePerson, queueChanges } from '../../../src/push/queueing.js';
import { emptyDir } from '../../support/open-warehouse.js';
import { newChange } from '../../support/pushing.js';
import { csv, importingOfFile } from './import/support.js';

const importing = importingOfFile();

/** A file of its own each time. */
const wish = (priority: string) => csv(`topic_id,priority,${randomUUID()}\nt1,${priority},\n`);
const only = (by: string | null) =>
  importing.queue.all().findLast(({ requestedBy }) => requestedBy === by) as Change;
const states = () =>
  importing.queue
    .all()
    .map(({ requestedBy, wanted, status }) => `${requestedBy} ${wanted.priority} ${status}`);
const decide = (...changes: Change[]) => ({ ids: changes.map(({ id }) => id), filter: {} });

it('a person is known by the name, in any case and with any spaces around it', () => {
  expect(isSamePerson('Anna', ' anna ')).toBe(true);
  expect(isSamePerson('Anna', 'Ben')).toBe(false);
  expect(isSamePerson(null, null)).toBe(false);
  expect(isSamePerson('Anna', null)).toBe(false);
});

describe('two people who want different values for one field', () => {
  it('are a conflict while the first change waits: neither is sent, and each names the other', async () => {
    await importing.runBy('Anna', await wish('low'));
    const report = await importing.runBy('Ben', await wish('high'));
    expect(report).toMatchObject({
      outcome: 'nothing',
      queued: [],
      exitCode: 3,
      rows: [{ outcome: 'conflict' }],
      preview: { changes: 0, requests: 0 },
    });
    expect(states()).toEqual(['Anna low conflict', 'Ben high conflict']);
    expect(report.conflicts).toEqual([only('Ben').id, only('Anna').id]);
    expect(only('Anna').error).toMatch(
      /^Ben wants priority high \(list\.csv row 2\), and Anna wants priority low: neither/,
    );
    expect(only('Ben').error).toMatch(
      /^Anna wants priority low \(list\.csv row 2\), and Ben wants priority high: neither/,
    );
  });

  it('are left to the push where the first was applied already: it compares what was seen', async () => {
    await importing.runBy('Anna', await wish('low'));
    importing.settle('t1', 'applied');
    await importing.runBy('Ben', await wish('high'));
    expect(only('Ben')).toMatchObject({ status: 'queued', base: { priority: 'default' } });
  });

  it('are one when nobody is named, and none where one corrects the own file', async () => {
    await importing.runBy(null, await wish('low'));
    await importing.runBy(null, await wish('high'));
    expect(states()).toEqual(['null low conflict', 'null high conflict']);
    await importing.clear();
    await importing.runBy('Anna', await wish('low'));
    await importing.runBy('anna', await wish('high'));
    expect(states()).toEqual(['Anna low superseded', 'anna high queued']);
  });

  it('who want the same each have a change: what one cancels, the other still wants', async () => {
    await importing.runBy('Anna', await wish('low'));
    expect((await importing.runBy('Ben', await wish('low'))).queued).toHaveLength(1);
    cancel(importing.queue, decide(only('Anna')));
    expect(states()).toEqual(['Anna low cancelled', 'Ben low queued']);
  });
});

it('what is queued and what that means for others is in the journal together, or not at all', async () => {
  const store = { all: async () => [], transaction: async () => undefined as never };
  const dataDir = emptyDir();
  const open = () => Queue.open(store, { dataDir }, systemClock);
  const wants = (requestedBy: string, priority: string) => ({
    ...newChange({ topic: 't1', wanted: { priority }, base: { priority: 'default' } }),
    requestedBy,
    importId: randomUUID(),
  });
  const queue = await open();
  queueChanges(queue, [wants('Anna', 'low')]);
  queueChanges(queue, [wants('Ben', 'high')]);
  const statuses = async () => (await open()).all().map(({ status }) => status);
  expect(await statuses()).toEqual(['conflict', 'conflict']);
  // A kill in the middle leaves Ben's change without the end of what was written with it.
  const lines = readFileSync(journalPath(dataDir), 'utf8').trimEnd().split('\n');
  writeFileSync(journalPath(dataDir), `${lines.slice(0, -1).join('\n')}\n`);
  appendFileSync(journalPath(dataDir), String(lines.at(-1)).slice(0, 40));
  expect(await statuses()).toEqual(['queued']);
});

it('what did not go through stays for the person who wanted it, and is replaced by what they want later', async () => {
  await importing.runBy('Anna', await wish('low'));
  importing.settle('t1', 'conflict');
  await importing.runBy('Ben', await wish('high'));
  expect(states()).toEqual(['Anna low conflict', 'Ben high queued']);
  cancel(importing.queue, decide(only('Ben')));
  await importing.runBy('anna', await wish('high'));
  expect(states()).toEqual(['Anna low superseded', 'Ben high cancelled', 'anna high queued']);
});

it.each([
  ['is as old', ',base_updated_at', ',2026-02-01T00:00:00.000Z'],
  ['is written in another form by a spreadsheet program', ',base_updated_at', ',01.02.2026 00:00'],
  ['is deleted', '', ''],
])(
  'a sheet whose time %s, edited further and sent again, takes back nothing that was changed since',
  async (_, header, at) => {
    const sheet = (second: string, time = at) =>
      csv(`topic_id,priority,base_priority${header}\nt1,low,default${time}\nt2,${second},default${time}\n`);
    await importing.runBy('Anna', await sheet('default'));
    // The warehouse shows default: somebody has set it after that.
    importing.settle('t1', 'applied');
    const again = await importing.runBy('Anna', await sheet('high'));
    expect(again.rows.map(({ outcome }) => outcome)).toEqual(['conflict', 'queued']);
    expect(again.rows[0]?.text).toMatch(/did this already, and it was changed since/);
    // A sheet that is newer shows what it is now.
    if (header === '') return;
    const newer = await importing.runBy('Anna', await sheet('high', ',2026-02-02T00:00:00.000Z'));
    expect(newer.rows.map(({ outcome }) => outcome)).toEqual(['queued', 'duplicate']);
  },
);

describe('the decision', () => {
  beforeEach(async () => {
    await importing.runBy('Anna', await wish('low'));
    await importing.runBy('Ben', await wish('high'));
  });

  it('is retry of one; the other stays in conflict, for whoever wants it after that', () => {
    const decisions = retry(importing.queue, decide(only('Anna')), { overwrite: true });
    expect(decisions).toMatchObject([{ done: true, status: 'queued', over: [only('Ben').id] }]);
    expect(states()).toEqual(['Anna low queued', 'Ben high conflict']);
    expect(only('Anna')).toMatchObject({ overwrite: false, base: { priority: 'default' }, error: null });
    expect(only('Ben')).toMatchObject({ errorCode: 'conflict' });
    expect(only('Ben').error).toMatch(/^Anna was preferred \(change \S+: priority low\)/);
    expect(retry(importing.queue, decide(only('Ben')), {})).toMatchObject([
      { done: false, reason: expect.stringContaining('is open and sets the same field') },
    ]);
  });

  it('needs one change: two that contradict each other are not retried together', () => {
    const [first, second] = retry(importing.queue, decide(only('Anna'), only('Ben')), {});
    expect([first?.done, second?.done]).toEqual([false, false]);
  });
});
