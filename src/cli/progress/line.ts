import { count, duration } from '../../base/units.js';
import { cut } from '../text/layout.js';
import type { BudgetView } from './eta.js';

/** A phase at one moment. */
export interface PhaseView {
  readonly name: string;
  readonly done: number;
  /** Unknown for a list before its first page. */
  readonly total: number | null;
  /** Unknown where the total is. */
  readonly etaMs: number | null;
}

/** The progress line: what is done, the requests left in this window, and how long it takes; one column to spare. */
export function progressLine(phase: PhaseView, budget: BudgetView | undefined, columns: number): string {
  const { name, done, total, etaMs } = phase;
  const parts = [name, total === null ? count(done) : `${count(done)}/${count(total)}`];
  if (total !== null && total > 0) parts.push(`${Math.floor((100 * Math.min(done, total)) / total)} %`);
  const eta = etaMs === null ? [] : [`ETA ${duration(etaMs)}`];
  const long = [...parts, ...budgetText(budget, false), ...eta].join('  ');
  if (long.length < columns) return long;
  return cut([...parts, ...budgetText(budget, true), ...eta].join('  '), columns - 1);
}

function budgetText(budget: BudgetView | undefined, short: boolean): string[] {
  if (!budget || !Number.isFinite(budget.limit)) return [];
  const { available, limit, windowMs, nextFreeMs } = budget;
  const left = `${count(available)} of ${count(limit)}`;
  if (available === 0 && nextFreeMs >= 1000) {
    return [short ? `0 left, next ${duration(nextFreeMs)}` : `${left} left, next in ${duration(nextFreeMs)}`];
  }
  const window = windowMs === 60_000 ? 'minute' : duration(windowMs);
  return [short ? `${left} left` : `${left} left this ${window}`];
}
