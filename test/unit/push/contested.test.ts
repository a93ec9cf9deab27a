import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Change } from '../../../src/push/change.js';
import { isSamePerson } from '../../../src/push/contested.js';
import { cancel, retry } from '../../../src/push/decide.js';
import { csv, importingOfFile } from './import/support.js';

const importing = importingOfFile();

/** A file of its own each time. */
const wish = (priority: string) => csv(`topic_id,priority,${randomUUID()}\nt1,${priority},\n`);
const of = (by: string | null) => importing.queue.all().filter(({ requestedBy }) => requestedBy === by);
const only = (by: string | null) => of(by).at(-1) as Change;
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
      outcome: 'nothing_new',
      queued: [],
      exitCode: 3,
      rows: [{ outcome: 'conflict' }],
    });
    expect(states()).toEqual(['Anna low conflict', 'Ben high conflict']);
    expect(report.conflicts).toEqual([only('Ben').id, only('Anna').id]);
    expect(only('Anna').error).toMatch(
      /^Ben wants priority high \(list\.csv row 2\), and Anna wants priority low: neither/,
    );
    expect(only('Ben').error).toMatch(
      /^Anna wants priority low \(list\.csv row 2\), and Ben wants priority high: neither/,
    );
    expect(report.preview).toMatchObject({ changes: 0, requests: { total: 0 } });
  });

  it('are left to the push where the first was applied already: it compares what was seen', async () => {
    await importing.runBy('Anna', await wish('low'));
    importing.settle('t1', 'applied');
    // A sheet with base columns says what was seen, and a push compares that.
    const base = (value: string) => csv(`topic_id,priority,base_priority\nt1,high,${value}\n`);
    for (const value of ['default', 'low']) {
      await importing.runBy('Ben', await base(value));
      expect(only('Ben').status).toBe('queued');
      cancel(importing.queue, decide(only('Ben')));
    }
    // The base of a list without them is what the warehouse had, so that the push finds what Anna has set.
    await importing.runBy('Ben', await wish('high'));
    expect(only('Ben')).toMatchObject({ status: 'queued', base: { priority: 'default' } });
    await importing.runBy('Anna', await wish('very_low'));
    expect(only('Anna').status).toBe('conflict');
  });

  it('are one when nobody is named, and none when both want the same or one corrects the own file', async () => {
    await importing.runBy(null, await wish('low'));
    await importing.runBy(null, await wish('high'));
    expect(states()).toEqual(['null low conflict', 'null high conflict']);
    await importing.clear();
    await importing.runBy('Anna', await wish('low'));
    await importing.runBy('Ben', await wish('low'));
    await importing.runBy('anna', await wish('high'));
    expect(states()).toEqual(['Anna low superseded', 'anna high queued']);
  });
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

it('a workbook that is edited further and sent again does not take back what somebody changed since it was applied', async () => {
  const sheet = (second: string, at = '2026-02-01T00:00:00.000Z') =>
    csv(
      `topic_id,priority,base_priority,base_updated_at\nt1,low,default,${at}\nt2,${second},default,${at}\n`,
    );
  await importing.runBy('Anna', await sheet('default'));
  // The warehouse shows default: somebody has set it after that.
  importing.settle('t1', 'applied');
  const again = await importing.runBy('Anna', await sheet('high'));
  expect(again.rows.map(({ outcome }) => outcome)).toEqual(['conflict', 'queued']);
  expect(again).toMatchObject({ exitCode: 3, conflicts: [again.rows[0]?.changeId], preview: { changes: 1 } });
  expect(again.rows[0]?.text).toMatch(/did this already, and it was changed since/);
  const conflict = importing.queue.get(again.conflicts[0] ?? '') as Change;
  expect(retry(importing.queue, decide(conflict), {})).toMatchObject([{ done: true, status: 'queued' }]);
  cancel(importing.queue, decide(conflict));
  // A sheet that is newer shows what it is now.
  const newer = await importing.runBy('Anna', await sheet('high', '2026-02-02T00:00:00.000Z'));
  expect(newer.rows.map(({ outcome }) => outcome)).toEqual(['queued', 'duplicate']);
});

it.each([
  ['written in another form by a spreadsheet program', ',base_updated_at', ',01.02.2026 00:00'],
  ['deleted', '', ''],
])('a sheet whose time is %s takes back nothing either', async (_, header, at) => {
  const sheet = (second: string) =>
    csv(`topic_id,priority,base_priority${header}\nt1,low,default${at}\nt2,${second},default${at}\n`);
  await importing.runBy('Anna', await sheet('default'));
  importing.settle('t1', 'applied');
  const again = await importing.runBy('Anna', await sheet('high'));
  expect(again.rows.map(({ outcome }) => outcome)).toEqual(['conflict', 'queued']);
});

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
