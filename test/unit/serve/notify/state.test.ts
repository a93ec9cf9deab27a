import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineOf, messageAbout } from '../../../../src/serve/notify/deliver.js';
import {
  afterCheck,
  afterDelivery,
  afterRun,
  type Level,
  type NotifyState,
  notifyState,
  pending,
} from '../../../../src/serve/notify/state.js';
import type { Outcome } from '../../../../src/serve/schedule/record.js';
import { now, someRun } from '../serving.js';

const run = (outcome: Outcome, job = 'nightly') => ({ ...someRun, job, outcome });
const hour = 3_600_000;
const topics = (hoursAgo: number | null) => ({
  resource: 'topics',
  at: hoursAgo === null ? null : new Date(now - hoursAgo * hour).toISOString(),
  objectiveMinutes: 60,
});

/** Tells everything that is to tell, and gives back what that was. */
function telling(state: NotifyState, at = now): [NotifyState, string[]] {
  const all = pending(state, at);
  const told = all.reduce((before, one) => afterDelivery(before, one, new Date(at).toISOString()), state);
  return [told, all.map((subject) => messageAbout(subject, 'Acme').event)];
}

it('jobs are told of again when the cause changes: from a refused key to an outage, and not for another text', () => {
  let state: NotifyState = {};
  const unavailable = (minutes: number, message: string) => ({
    ...run('unavailable'),
    exitCode: 1 as const,
    unavailableSince: new Date(Date.parse(someRun.endedAt) - minutes * 60_000).toISOString(),
    message,
  });
  const told = [
    { ...run('failed'), exitCode: 5 as const, message: 'the key is refused' },
    { ...run('failed'), exitCode: 5 as const, message: 'the key is refused still' },
    unavailable(4, 'the API is away'),
    unavailable(6, 'the API is away for six minutes'),
    unavailable(70, 'the API is away for longer'),
    { ...run('failed'), exitCode: 1 as const, message: 'the disk is full' },
  ].map((one) => {
    state = afterRun(state, one);
    const details = pending(state, now).map(({ detail }) => detail);
    [state] = telling(notifyState.parse(JSON.parse(JSON.stringify(state))));
    return details.join();
  });
  expect(told).toEqual([
    'the key is refused',
    '',
    '',
    'the API is away for six minutes',
    '',
    'the disk is full',
  ]);
  expect(telling(afterRun(state, run('done')))[1]).toEqual(['recovered']);
});

it('what is still wrong is told again once a day, until it is over', () => {
  const told: string[] = [];
  let state: NotifyState = afterRun({}, run('failed'));
  for (let hours = 0; hours < 60; hours += 6) {
    const [next, events] = telling(state, now + hours * hour);
    state = next;
    told.push(...events.map((event) => `${hours} ${event}`));
  }
  expect(told).toEqual(['0 failed', '24 failed', '48 failed']);
  const [over, events] = telling(afterRun(state, run('done')), now + 60 * hour);
  expect(events).toEqual(['recovered']);
  expect(telling(over, now + 200 * hour)[1]).toEqual([]);
  const [subject] = pending(state, now + 72 * hour);
  if (!subject) throw new Error('nothing to tell');
  expect(messageAbout(subject, 'Acme', true).title).toBe('job nightly failed, as before');
  // With what it says now, not what it said then.
  const later = afterRun(state, { ...run('failed'), message: '40 failed' });
  expect(pending(later, now + 72 * hour)).toMatchObject([{ detail: '40 failed', since: subject.since }]);
});

it('what was told by a clock that was ahead is told again when the clock is right, and not ten days later', () => {
  const [state] = telling(afterRun({}, run('failed')), now + 240 * hour);
  const [next, events] = telling(state, now);
  expect(events).toEqual(['failed']);
  expect([12, 24].map((hours) => telling(next, now + hours * hour)[1])).toEqual([[], ['failed']]);
});

describe('data', () => {
  it('that was never complete has not recovered because the worker was restarted, and its time goes on', () => {
    const stored = (state: NotifyState) => notifyState.parse(JSON.parse(JSON.stringify(state)));
    const fresh = stored(afterCheck({}, [topics(null)], now, now));
    const later = now + 1.1 * hour;
    // Each start watches anew.
    const [stale, events] = telling(afterCheck(fresh, [topics(null)], later, later), later);
    expect(events).toEqual(['stale']);
    expect(telling(afterCheck(stored(stale), [topics(null)], later, later), later)[1]).toEqual([]);
    const [complete, over] = telling(afterCheck(stale, [topics(-1)], later, later), later);
    expect(over).toEqual(['recovered']);
    // A first pull into a new data directory has its time again.
    expect(pending(afterCheck(stored(complete), [topics(null)], later, later), later)).toEqual([]);
  });

  it('is not told of again once it has no objective any more', () => {
    const objective = (objectiveMinutes: number | null) => [{ ...topics(2), objectiveMinutes }];
    const [stale] = telling(afterCheck({}, objective(60), now, now));
    const later = now + 48 * hour;
    expect(telling(stale, later)[1]).toEqual(['stale']);
    expect(telling(afterCheck(stale, objective(null), later, now), later)[1]).toEqual([]);
    // Nothing is known of the warehouse just now.
    expect(afterCheck(stale, [], later, now)).toBe(stale);
  });

  it('is stale once its objective has passed, and fresh again', () => {
    let state = afterCheck({}, [topics(0.5)], now, now);
    expect(pending(state, now)).toEqual([]);
    state = afterCheck(state, [topics(2)], now, now);
    const [subject] = pending(state, now);
    expect(subject).toMatchObject({
      level: 'stale',
      detail: 'was last complete 2 h 00 min ago (objective: 1 h 00 min)',
    });
    [state] = telling(state);
    state = afterCheck(state, [topics(30)], now, now);
    expect(pending(state, now)).toEqual([]);
    expect(state['resource:topics']?.detail).toContain('30 h 00 min ago');
    expect(afterCheck(state, [topics(30)], now, now)).toBe(state);
    expect(telling(afterCheck(state, [topics(0)], now, now))[1]).toEqual(['recovered']);
  });

  it('may take the time of its objective for the first filling, and no more', () => {
    expect(pending(afterCheck({}, [topics(null)], now, now - 0.9 * hour), now)).toEqual([]);
    expect(pending(afterCheck({}, [topics(null)], now, now - 1.1 * hour), now)).toMatchObject([
      { detail: expect.stringContaining('never complete') },
    ]);
  });
});

it('each change that lasts is told of once, in order, through restarts and deliveries that fail', () => {
  const outcome = fc.constantFrom<Outcome>('done', 'failed', 'incomplete', 'skipped');
  fc.assert(
    fc.property(fc.array(fc.tuple(outcome, fc.boolean())), (events) => {
      let state: NotifyState = {};
      const heard: Level[] = ['ok'];
      for (const [next, arrives] of events) {
        state = notifyState.parse(JSON.parse(JSON.stringify(afterRun(state, run(next)))));
        if (!arrives) continue;
        heard.push(...pending(state, now).map(({ level }) => level));
        [state] = telling(state);
        // Whoever hears everything knows how it is.
        expect(heard.at(-1)).toBe(state['job:nightly']?.level ?? 'ok');
      }
      expect(heard.every((level, index) => level !== heard[index - 1])).toBe(true);
    }),
  );
});

it('the words of a message are of a length, and belong to no service', () => {
  const [subject] = pending(
    afterRun({}, { ...run('failed'), message: `<!channel> & ${'x'.repeat(5_000)}` }),
    now,
  );
  const message = messageAbout(subject!, 'Acme <b>');
  expect(lineOf(message)).toMatch(/^\[Acme <b>\] job nightly failed: <!channel> & x+…$/);
  expect(lineOf(message).length).toBeLessThan(2_000);
  expect(message).toMatchObject({
    event: 'failed',
    subject: 'nightly',
    kind: 'job',
    since: someRun.endedAt,
  });
});
