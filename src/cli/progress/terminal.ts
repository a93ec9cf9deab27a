import type { RunObserver } from '../../base/observer.js';
import { cut, shown } from '../text/layout.js';
import { type BudgetView, etaMs, type Pace } from './eta.js';
import { progressLine } from './line.js';

/** Where the progress is drawn: a terminal's stderr. */
export interface Screen {
  write(text: string): unknown;
  readonly columns?: number;
}

const redrawMs = 200;
const clear = '\r\u001b[K';

/**
 * Progress on a terminal: one line a phase, redrawn in place, of which the last stays. Nothing is written that stands
 * there already, so that it does not flicker; what others write goes through `around`, above the line.
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

  /** From now on the line shows this budget, and an ETA that knows it. */
  watch(budget: () => BudgetView, pace: () => Pace): void {
    this.#budget = budget;
    this.#pace = pace;
  }

  phase(name: string, total: number | null): void {
    this.#phase = { name, done: 0, total };
    // The budget and the ETA move while nothing else does.
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

  /** Lets somebody else write to the same terminal. */
  around(write: () => void): void {
    if (this.#drawn !== '') this.#screen.write(clear);
    this.#drawn = '';
    write();
    this.#draw();
  }

  /** Takes the line away and stops redrawing. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#phase = undefined;
    if (this.#drawn !== '') this.#screen.write(clear);
    this.#drawn = '';
  }

  #line(text: string): void {
    this.around(() => this.#screen.write(`${cut(shown(text), this.#columns)}\n`));
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
