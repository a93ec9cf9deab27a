import { appendFileSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { guardedWindow } from '../../../src/api/budget.js';
import { formatRecord, SpendingLog, type SpendingLogOptions } from '../../../src/api/spending-log.js';
import { silentLog } from '../../../src/base/log.js';
import { SimulatedClock } from '../../support/simulated-clock.js';
import { testFolder } from '../../support/test-folders.js';

const windowMs = 1000;
const heldMs = guardedWindow(windowMs);
const attemptMs = 400;

let path: string;
let clock: SimulatedClock;
const opened: SpendingLog[] = [];

beforeEach(() => {
  path = join(testFolder(), 'spending.log');
  clock = new SimulatedClock();
});
afterEach(() => {
  for (const log of opened.splice(0)) log.close();
});

/** A command that opens the spending log; `mayRun` says whether the others still run. */
function open(more: Partial<SpendingLogOptions> = {}): SpendingLog {
  const defaults = { path, heldMs, attemptMs, requests: 10, clock, log: silentLog, mayRun: () => true };
  const log = new SpendingLog({ ...defaults, ...more });
  opened.push(log);
  return log;
}

describe('the spending log', () => {
  test('a command sees the spending of the one before it, until a window after the end of each attempt', () => {
    const first = open();
    for (let i = 0; i < 3; i++) {
      first.claim(10)?.end();
      clock.skip(100);
    }
    first.close();
    const second = open();
    expect(second.held()).toBe(3);
    expect(second.nextFreeAt()).toBe(heldMs);
    clock.skip(heldMs - 300);
    expect(second.held()).toBe(2);
    clock.skip(200);
    expect(second.held()).toBe(0);
    expect(second.nextFreeAt()).toBeUndefined();
  });

  test('an attempt of a killed command holds a slot for a window', () => {
    open().claim(10);
    clock.skip(50);
    const next = open({ mayRun: () => false });
    expect(next.held()).toBe(1);
    clock.skip(heldMs);
    expect(next.held()).toBe(0);
  });

  test('when two commands find the same last slot free, the one that is later in the file withdraws', () => {
    let meanwhile = () => undefined as unknown;
    const interrupted = Object.assign(Object.create(clock) as SimulatedClock, {
      monotonic: () => clock.monotonic(),
      now: () => {
        const run = meanwhile;
        meanwhile = () => undefined;
        run();
        return clock.now();
      },
    });
    const slow = open({ clock: interrupted });
    const quick = open();
    // `slow` has looked, and is about to write, when `quick` takes the slot.
    meanwhile = () => expect(quick.claim(1)).toBeDefined();
    expect(slow.claim(1)).toBeUndefined();
    expect(quick.held()).toBe(0);
    expect(slow.held()).toBe(1);
  });

  test.each([
    ['back', -3_600_000],
    ['forward', 3_600_000],
  ])('a clock that is set %s blocks no command for longer than a window', (_, jump) => {
    const first = open();
    first.claim(10)?.end();
    first.claim(10);
    clock.wallAheadMs += jump;
    const next = open({ mayRun: () => false });
    clock.skip(heldMs);
    expect(next.held()).toBe(0);
    expect(next.claim(1)).toBeDefined();
  });

  test('skips what is not a record, such as half a line that a full disk left', () => {
    writeFileSync(path, 's 0000\n\u0000\u0000garbage\ne 12345678 1\n');
    const first = open();
    first.claim(10)?.end();
    appendFileSync(path, 's 1234');
    expect(open().held()).toBe(1);
  });

  test('is emptied when it is large and holds nothing of the last window, and other commands notice', () => {
    const old = formatRecord({ kind: 'end', writer: '00000000', id: 1, at: clock.now() - 10 * heldMs });
    writeFileSync(path, `${old}\n`.repeat(40_000));
    const other = open();
    const recent = formatRecord({ kind: 'end', writer: '00000000', id: 2, at: clock.now() });
    appendFileSync(path, `${recent}\n`);
    expect(open().claim(10)).toBeDefined();
    expect(statSync(path).size).toBeGreaterThan(1 << 20);
    clock.skip(heldMs + attemptMs);
    expect(other.held()).toBe(0);
    const next = open();
    clock.skip(heldMs);
    expect(next.claim(10)).toBeDefined();
    expect(statSync(path).size).toBeLessThan(100);
    expect(other.held()).toBe(1);
    expect(other.claim(1)).toBeUndefined();
  });

  test.runIf(existsSync('/dev/full'))('a log on a full disk warns once and blocks no request', () => {
    const lines: string[] = [];
    const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
    const spending = open({ path: '/dev/full', log });
    expect(spending.claim(1)).toBeDefined();
    expect(spending.claim(1)).toBeDefined();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('ENOSPC');
  });

  test('an attempt of a running command holds a slot until a window after its deadline or its end', () => {
    const other = open();
    const entry = other.claim(10);
    other.claim(10);
    const ours = open();
    clock.skip(100);
    entry?.end();
    expect(ours.held()).toBe(2);
    clock.skip(heldMs);
    expect(ours.held()).toBe(1);
    clock.skip(attemptMs - 100);
    expect(ours.held()).toBe(0);
  });
});
