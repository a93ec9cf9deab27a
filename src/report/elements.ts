import { millis } from '../base/clock.js';
import { count, counted } from '../base/units.js';
import type { Series } from '../view/charts.js';
import { type Html, html, type Piece, type Row, table } from '../view/html.js';

/** The parts of every section of the report: figures with a table of the same numbers, and values as text. */

/** A chart with its legend, and with a table of the same numbers below it. */
export function figure(parts: {
  readonly lead?: Piece;
  readonly chart: Html;
  readonly series?: readonly Pick<Series, 'name' | 'color'>[];
  readonly table: Html;
}): Html {
  const { lead, chart, series = [], table: numbers } = parts;
  return html`${lead === undefined ? null : html`<p>${lead}</p>`}<figure>${
    series.length === 0
      ? null
      : html`<ul class="legend">${series.map(({ name, color }) => html`<li><svg viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12" rx="2" fill="var(--${color})"/></svg>${name}</li>`)}</ul>`
  }${chart}<details><summary>The same as a table</summary>${numbers}</details></figure>`;
}

/** A table with its name above it. */
export function titled(caption: string, columns: readonly string[], rows: readonly Row[]): Html {
  return table(null, caption, columns, rows, { isTitled: true });
}

export function weeklyTable(title: string, weeks: readonly string[], series: readonly Series[]): Html {
  return titled(
    title,
    ['week of', ...series.map(({ name }) => `${name}#`), 'all#'],
    weeks
      .map((week, at) => {
        const values = series.map((one) => one.values[at] ?? 0);
        return [day(week), ...values, values.reduce((sum, value) => sum + value, 0)];
      })
      .reverse(),
  );
}

/** The text, when there are more rows than are shown. */
export function most(rows: readonly { readonly found: number }[], text: string): string {
  return (rows[0]?.found ?? 0) > rows.length ? text : '';
}

/** How many of how many rows are shown, when not all are. */
export function shownOf(rows: readonly { readonly found: number }[]): string {
  const found = rows[0]?.found ?? 0;
  return found > rows.length ? ` (${count(rows.length)} of ${count(found)})` : '';
}

/** `45 min`, `31 h`, `83 days`. What is dated after the data has not waited yet. */
export function wait(hours: number): string {
  if (hours < 2) return `${Math.round(Math.max(hours, 0) * 60)} min`;
  return hours < 48 ? `${Math.round(hours)} h` : counted(hours / 24, 'day');
}

/** `17 Nov 2026`. */
export function day(at: string | null): string {
  const ms = at === null ? null : Date.parse(at);
  if (ms === null || Number.isNaN(ms)) return 'the start';
  return new Intl.DateTimeFormat('en-GB', {
    timeZone: 'UTC',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
  }).format(ms);
}

/** `Nov 2026`. */
export function monthName(month: string): string {
  return day(month).replace(/^\d+ /, '');
}

/** `17 Nov 2026, 03:00 UTC`. */
export function moment(at: string): Html {
  const ms = millis(at) ?? 0;
  const text = `${day(at)}, ${new Date(ms).toISOString().slice(11, 16)} UTC`;
  return html`<time datetime="${new Date(ms).toISOString()}">${text}</time>`;
}

/** Every Monday from the first of these rows to the week of the data, also those without a row. */
export function everyWeek(rows: readonly { readonly week: string }[], asOf: string | null): string[] {
  const last = Date.parse(asOf ?? '');
  const all: string[] = [];
  for (let at = Date.parse(rows[0]?.week ?? ''); at <= last; at += 7 * 86_400_000)
    all.push(new Date(at).toISOString().slice(0, 10));
  return all;
}
