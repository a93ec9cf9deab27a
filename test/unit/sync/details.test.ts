import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunObserver } from '../../../src/base/observer.js';
import { resources } from '../../../src/contract/resources.js';
import type { ChildOutcome } from '../../../src/sync/children.js';
import { PhaseTracker } from '../../../src/sync/details.js';
import type { Task } from '../../../src/sync/due.js';

type Told = ['phase', string, number | null] | ['progress', number, number | null] | ['end', string];

function listener(): { told: Told[]; observer: RunObserver } {
  const told: Told[] = [];
  const observer: RunObserver = {
    phase: (name, total) => void told.push(['phase', name, total]),
    progress: (done, total) => void told.push(['progress', done, total]),
    phaseEnd: (result) => void told.push(['end', result]),
    note: () => undefined,
  };
  return { told, observer };
}

const task = (endpoint: string, reason: Task['reason'], entityId = 'x'): Task => {
  const child = resources.children.find(({ name }) => name === endpoint);
  if (!child) throw new Error(endpoint);
  const rest = { fingerprint: '', vip: false, lastActivity: '', wholeAt: null, requests: 1 };
  return { child, entityId, reason, ...rest };
};

describe('PhaseTracker', () => {
  test('a phase is an endpoint and a reason; its end says how it went', () => {
    const { told, observer } = listener();
    const tasks = [task('topic', 'never'), task('topic', 'never'), task('topic', 'changed')];
    const tracker = new PhaseTracker(observer, tasks);
    const [first, second, third] = tasks as [Task, Task, Task];
    tracker.done(first, 'fetched');
    tracker.done(second, 'absent');
    tracker.done(third, 'failed');
    tracker.end();
    expect(told).toEqual([
      ['phase', 'topic (new)', 2],
      ['progress', 1, 2],
      ['progress', 2, 2],
      ['end', '1 fetched, 1 not found'],
      ['phase', 'topic (changed)', 1],
      ['progress', 1, 1],
      ['end', '0 fetched, 1 failed'],
    ]);
  });

  test('cut short, it says how much is left', () => {
    const { told, observer } = listener();
    const tasks = [task('topic', 'never'), task('topic', 'never')];
    const tracker = new PhaseTracker(observer, tasks);
    tracker.done(tasks[0] as Task, 'fetched');
    tracker.end();
    tracker.end();
    expect(told.filter(([kind]) => kind === 'end')).toEqual([['end', '1 fetched, 1 left']]);
  });

  test('in whatever order tasks end, every phase starts once, ends once, and before the next', () => {
    const kinds = ['topic', 'topic_groups', 'person'] as const;
    const reasons = ['never', 'changed', 'sweep'] as const;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...kinds), fc.constantFrom(...reasons)), { maxLength: 20 }),
        fc.infiniteStream(fc.nat()),
        (named, chance) => {
          const tasks = named.map(([endpoint, reason]) => task(endpoint, reason));
          const { told, observer } = listener();
          const tracker = new PhaseTracker(observer, tasks);
          const left = [...tasks];
          while (left.length > 0) {
            const at = (chance.next().value as number) % left.length;
            tracker.done(left.splice(at, 1)[0] as Task, 'fetched' satisfies ChildOutcome);
          }
          tracker.end();
          const phases = told.filter(([kind]) => kind !== 'progress');
          expect(phases.map(([kind]) => kind)).toEqual(
            Array.from({ length: phases.length }, (_, index) => (index % 2 === 0 ? 'phase' : 'end')),
          );
          const names = phases.flatMap((one) => (one[0] === 'phase' ? [one[1]] : []));
          expect(new Set(names).size).toBe(names.length);
          expect(names).toHaveLength(new Set(named.map(String)).size);
          expect(told.some((one) => one[0] === 'end' && one[1].includes('left'))).toBe(false);
        },
      ),
    );
  });
});
