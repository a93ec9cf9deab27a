import type { RunObserver } from '../../base/observer.js';
import { count, duration } from '../../base/units.js';
import { cut, printable } from '../text/layout.js';
import { type BudgetView, etaMs, type Pace } from './eta.js';

/** Where the progress is drawn: a terminal's stderr. */
export interface Screen {
  write(text: string): unknown;
  readonly columns?: number;
}

const redrawMs = 200;
const clear = '\r\u001b[K';

/**
 * Progress on a terminal: one line for each phase, redrawn in place, whose last version stays. A line that has not
 * changed is not written again, so that it does not flicker; other output goes through `around`, above the line.
 */
export class TerminalProgress implements RunObserver {
  readonly #screen: Screen;
  #budget: (() => BudgetView) | undefined;
  #pace: () => Pace = () => ({ answerMs: 0, concurrency: 1 });
  #phase: { name: string; done: number; total: number | null } | undefined;
  #drawn = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** From now on the line shows this budget, and an ETA that takes it into account. */
  watch(budget: () => BudgetView, pace: () => Pace): void {
    this.#budget = budget;
    this.#pace = pace;
  }

  phase(name: string, total: number | null): void {
    this.#phase = { name, done: 0, total };
    // The budget and the ETA change even when nothing else does.
    this.#timer ??= setInterval(() => this.#draw(), redrawMs).unref();
    this.#draw();
  }

  progress(done: number, total: number | null): void {
    if (this.#phase) this.#phase = { ...this.#phase, done, total };
  }

  phaseEnd(result: string): void {
    const name = this.#phase?.name;
    this.#phase = undefined;
    this.#line(name === undefined ? result : `${name}  ${result}`);
  }

  note(text: string): void {
    this.#line(text);
  }

  /** Writes something else to the same terminal, above the line. */
  around(write: () => void): void {
    if (this.#drawn !== '') this.#screen.write(clear);
    this.#drawn = '';
    write();
    this.#draw();
  }

  /** Removes the line and stops redrawing. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#phase = undefined;
    if (this.#drawn !== '') this.#screen.write(clear);
    this.#drawn = '';
  }

  #line(text: string): void {
    this.around(() => this.#screen.write(`${cut(printable(text), this.#columns)}\n`));
  }

  #draw(): void {
    if (!this.#phase) return;
    const { name, done, total } = this.#phase;
    const budget = this.#budget?.();
    const eta = total === null || !budget ? null : etaMs(total - done, budget, this.#pace());
    const line = progressLine({ name, done, total, etaMs: eta }, budget, this.#columns);
    if (line === this.#drawn) return;
    this.#screen.write(`${clear}${line}`);
    this.#drawn = line;
  }

  get #columns(): number {
    return this.#screen.columns || 80;
  }
}

/** The state of a phase. */
interface PhaseView {
  readonly name: string;
  readonly done: number;
  /** Null for a list before its first page. */
  readonly total: number | null;
  /** Null when the total is unknown. */
  readonly etaMs: number | null;
}

/** The progress line: what is done, the requests left in this window, and the ETA; it leaves the last column free. */
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
