import { describe, expect, test } from 'vitest';
import type { RunObserver } from '../../../src/base/observer.js';
import { resources } from '../../../src/contract/resources.js';
import { PhaseTracker } from '../../../src/sync/fetch-due.js';
import { type Task, wholeChild } from '../../../src/sync/task.js';

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
  return { ...wholeChild, child, entityId, reason, fingerprint: '' };
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

  test('a run that stops says how much is left', () => {
    const { told, observer } = listener();
    const tasks = [task('topic', 'never'), task('topic', 'never')];
    const tracker = new PhaseTracker(observer, tasks);
    tracker.done(tasks[0] as Task, 'fetched');
    tracker.end();
    tracker.end();
    expect(told.filter(([kind]) => kind === 'end')).toEqual([['end', '1 fetched, 1 left']]);
  });
});
