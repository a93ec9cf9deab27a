import { cut } from '../base/display-width.js';
import { type BudgetView, etaMs, type Speed } from '../base/eta.js';
import { type Outage, type OutageEnd, outageEndText, type ProgressDisplay } from '../base/observer.js';
import { count, duration } from '../base/units.js';
import { printable } from '../view/text.js';

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
export class TerminalProgress implements ProgressDisplay {
  #speed: Speed | undefined;
  #phase: { name: string; done: number; total: number | null } | undefined;
  #outage: (Outage & { readonly at: number }) | undefined;
  #drawn = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly screen: Screen) {}

  /** From now on the line shows this budget, and an ETA that takes it into account. */
  watch(speed: Speed): void {
    this.#speed = speed;
  }

  phase(name: string, total: number | null): void {
    this.#phase = { name, done: 0, total };
    this.#redraw();
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

  unavailable(outage: Outage): void {
    const isNew = this.#outage === undefined;
    this.#outage = { ...outage, at: performance.now() };
    if (isNew) this.#line(`the API does not answer; waiting for it (${outage.reason})`);
    this.#redraw();
  }

  outageEnd(end: OutageEnd): void {
    this.#outage = undefined;
    this.#line(outageEndText(end));
  }

  /** Writes something else to the same terminal, above the line. */
  around(write: () => void): void {
    if (this.#drawn !== '') this.screen.write(clear);
    this.#drawn = '';
    write();
    this.#draw();
  }

  /** Removes the line and stops redrawing. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#phase = undefined;
    this.#outage = undefined;
    if (this.#drawn !== '') this.screen.write(clear);
    this.#drawn = '';
  }

  #redraw(): void {
    // The budget, the ETA and the wait change even when nothing else does.
    this.#timer ??= setInterval(() => this.#draw(), redrawMs).unref();
    this.#draw();
  }

  #line(text: string): void {
    this.around(() => this.screen.write(`${cut(printable(text), this.#columns)}\n`));
  }

  #draw(): void {
    const line = this.#outage ? this.#outageLine(this.#outage) : this.#phaseLine();
    if (line === undefined || line === this.#drawn) return;
    this.screen.write(`${clear}${line}`);
    this.#drawn = line;
  }

  #phaseLine(): string | undefined {
    if (!this.#phase) return undefined;
    const { name, done, total } = this.#phase;
    const budget = this.#speed?.budget();
    const eta =
      total === null || !this.#speed || !budget ? null : etaMs(total - done, budget, this.#speed.pace());
    return progressLine({ name, done, total, etaMs: eta }, budget, this.#columns);
  }

  /** Counts on between two calls of `unavailable`. */
  #outageLine({ forMs, leftMs, at }: Outage & { readonly at: number }): string {
    const passedMs = performance.now() - at;
    const where = this.#phase ? `${this.#phase.name}  ` : '';
    const left = duration(Math.max(0, leftMs - passedMs));
    const line = `${where}waiting for the API, unavailable for ${duration(forMs + passedMs)}; at most ${left} more`;
    return cut(line, this.#columns - 1);
  }

  get #columns(): number {
    return this.screen.columns || 80;
  }
}

interface PhaseView {
  readonly name: string;
  readonly done: number;
  /** Null for a list before its first page. */
  readonly total: number | null;
  /** Null when the total is unknown. */
  readonly etaMs: number | null;
}

/** The progress line: finished work, the requests left in this window, and the ETA; it leaves the last column free. */
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
