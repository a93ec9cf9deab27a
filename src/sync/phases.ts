import type { RunObserver } from '../base/observer.js';
import type { ChildOutcome } from './children.js';
import type { Task } from './due.js';

interface Phase {
  readonly name: string;
  readonly total: number;
  done: number;
  readonly outcomes: Record<ChildOutcome, number>;
}

/**
 * Tells an observer about tasks phase by phase, a phase being the tasks of one endpoint and reason. Tasks overlap at
 * the edge of two phases; the observer sees one phase end before the next starts all the same.
 */
export class PhaseTracker {
  readonly #observer: RunObserver;
  readonly #phases = new Map<string, Phase>();
  readonly #order: Phase[];
  #current = -1;

  constructor(observer: RunObserver, tasks: readonly Task[]) {
    this.#observer = observer;
    const totals = new Map<string, number>();
    for (const task of tasks) totals.set(phaseOf(task), (totals.get(phaseOf(task)) ?? 0) + 1);
    for (const [name, total] of totals) {
      this.#phases.set(name, { name, total, done: 0, outcomes: { fetched: 0, absent: 0, failed: 0 } });
    }
    this.#order = [...this.#phases.values()];
    this.#next();
  }

  done(task: Task, outcome: ChildOutcome): void {
    const phase = this.#phases.get(phaseOf(task));
    if (!phase) return;
    phase.done += 1;
    phase.outcomes[outcome] += 1;
    const current = this.#order[this.#current];
    if (phase !== current) return;
    this.#observer.progress(phase.done, phase.total);
    while (this.#isOver()) {
      this.#finish();
      this.#next();
    }
  }

  /** Ends the phase that is open, when a run stops in the middle of it. */
  end(): void {
    if (this.#order[this.#current]) this.#finish();
    this.#current = this.#order.length;
  }

  #isOver(): boolean {
    const current = this.#order[this.#current];
    return current !== undefined && current.done >= current.total;
  }

  #finish(): void {
    const current = this.#order[this.#current];
    if (!current) return;
    const { fetched, absent, failed } = current.outcomes;
    const parts = [`${fetched} fetched`];
    if (absent > 0) parts.push(`${absent} not there`);
    if (failed > 0) parts.push(`${failed} failed`);
    if (current.done < current.total) parts.push(`${current.total - current.done} left`);
    this.#observer.phaseEnd(parts.join(', '));
  }

  #next(): void {
    this.#current += 1;
    const current = this.#order[this.#current];
    if (!current) return;
    this.#observer.phase(current.name, current.total);
    if (current.done > 0) this.#observer.progress(current.done, current.total);
  }
}

function phaseOf(task: Task): string {
  return `${task.child.name} (${task.reason === 'never' ? 'new' : task.reason})`;
}
