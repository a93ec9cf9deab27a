import { cut, widthOf } from '../base/display-width.js';
import { count } from '../base/units.js';
import { type Html, html } from './html.js';

/**
 * Charts as SVG, for pages and reports alike. Colours are custom properties of the style sheet, so that light, dark and print
 * need no other picture. Those of a report are drawn twice, for a laptop and for a phone, because text in a picture that
 * shrinks to a third cannot be read; the style sheet shows one of them.
 */

const widths = { wide: 900, narrow: 330 } as const;
type Width = (typeof widths)[keyof typeof widths];

/** A part of a stacked chart. */
export interface Series {
  readonly name: string;
  /** The name of a custom property, without the dashes. */
  readonly color: string;
  /** One value for each place on the axis. */
  readonly values: readonly number[];
}

/** Columns over time: a stack for each week, given by its Monday as `2026-11-16`. */
export function weeklyColumns(label: string, weeks: readonly string[], series: readonly Series[]): Html {
  return drawn(label, (width) => {
    const area = areaOf(width, width === widths.wide ? 240 : 190, {
      left: 40,
      right: 18,
      top: 8,
      bottom: 28,
    });
    const { left, right, bottom } = area;
    const { top: most, step } = scaleUpTo(Math.max(0, ...totalsOf(weeks, series)));
    const placeOf = bandsOf(area, weeks.length, 0.18);
    const every = Math.max(1, Math.ceil(weeks.length / (width === widths.wide ? 13 : 5)));
    const grid = Array.from({ length: Math.round(most / step) + 1 }, (_, at) => {
      const y = heightOf(area, at * step, most);
      return html`<line x1="${left}" x2="${right}" y1="${y}" y2="${y}" stroke="var(--line)"/>${text(left - 6, y + 4, short(at * step), 'end')}`;
    });
    const labels = weeks.map((week, at) =>
      at % every === (weeks.length - 1) % every
        ? text(placeOf(at).middle, bottom + 20, dayAndMonth(week), 'middle')
        : null,
    );
    return svg(
      area,
      html`<g ${axisText}>${grid}${labels}</g>${stacks(area, weeks, series, most, placeOf)}${baseLine(area)}`,
    );
  });
}

/** A stack for each of a few named groups, with the total above it as `total` writes it. */
export function groupColumns(
  label: string,
  groups: readonly string[],
  series: readonly Series[],
  total: (value: number) => string = count,
): Html {
  const totals = totalsOf(groups, series);
  return drawn(label, (width) => {
    const area = areaOf(width, 200, { left: 10, right: 10, top: 24, bottom: 28 });
    const { top: most } = scaleUpTo(Math.max(0, ...totals));
    const placeOf = bandsOf(area, groups.length, 0.25);
    const names = groups.map((name, at) => text(placeOf(at).middle, area.bottom + 20, name, 'middle'));
    const values = totals.map((value, at) =>
      text(placeOf(at).middle, heightOf(area, value, most) - 6, total(value), 'middle'),
    );
    return svg(
      area,
      html`${stacks(area, groups, series, most, placeOf)}<g ${axisText}>${names}</g><g ${markText} fill="var(--text)" font-weight="600">${values}</g>${baseLine(area)}`,
    );
  });
}

export interface Bar {
  readonly label: string;
  /** Drawn one after the other. */
  readonly parts: readonly { readonly value: number; readonly color: string }[];
  /** What stands behind the bar, such as `26, was 1`. */
  readonly note: string;
}

/** One bar for each row: beside its label, or below it where there is no room beside it. */
export function bars(label: string, rows: readonly Bar[]): Html {
  const sums = rows.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const longest = Math.max(...rows.map((row) => widthOf(row.label)));
  const noteWidth = 12 + 8 * Math.max(...rows.map(({ note }) => note.length));
  return drawn(label, (width) => {
    const isBeside = width === widths.wide;
    const start = isBeside ? Math.min(460, 20 + perColumn * longest) : 0;
    const rowHeight = isBeside ? 30 : 46;
    const perUnit = (width - start - noteWidth) / Math.max(1, ...sums);
    const labelWidth = (isBeside ? start - 12 : width) / perColumn;
    const drawnRows = rows.map((row, at) => {
      const y = at * rowHeight;
      let end = start;
      const pieces = row.parts.map(({ value, color }) => {
        const x = end;
        end += perUnit * value;
        return rect(x, y + (isBeside ? 7 : 23), end - x, isBeside ? 17 : 14, color);
      });
      const name = text(0, y + (isBeside ? 20 : 16), cut(row.label, labelWidth), 'start');
      const note = text(end + 8, y + (isBeside ? 20 : 35), row.note, 'start');
      return html`<g fill="var(--text)">${name}</g>${pieces}<g fill="var(--quiet)">${note}</g>`;
    });
    const area = areaOf(width, rows.length * rowHeight, { left: 0, right: 0, top: 0, bottom: 0 });
    return svg(area, html`<g ${markText}>${drawnRows}</g>`);
  });
}

/** A mark of a chart on a page: a tone of the style sheet, from 0 to 1, with its exact value as title. */
export interface Mark {
  readonly size: number;
  readonly tone: string;
  readonly title: string;
}

/**
 * Marks in `slots` equal places, the last one at the right edge; `line` is a height from 0 to 1. It has no text, so that it
 * can be stretched: text beside it keeps its size on a narrow screen.
 */
export function marks(label: string, all: readonly Mark[], slots: number, line: number | null): Html {
  const [width, height] = [720, 120];
  const step = width / Math.max(1, slots);
  const first = slots - all.length;
  const shapes = all.map(({ size, tone, title }, index) => {
    if (size <= 0) return null;
    const tall = Math.max(2, size * height);
    const x = (first + index) * step + step * 0.12;
    return html`<g><title>${title}</title><rect fill="var(--${tone}-fill)" x="${fixed(x)}" width="${fixed(step * 0.76)}" y="${fixed(height - tall)}" height="${fixed(tall)}"/></g>`;
  });
  const level = (y: number, look: Html) =>
    html`<line x1="0" y1="${fixed(y)}" x2="${width}" y2="${fixed(y)}" ${look}/>`;
  return html`<svg class="bars" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}" preserveAspectRatio="none">${
    line === null
      ? null
      : level(
          height - line * height,
          html`stroke="var(--quiet-fill)" stroke-width="1.5" stroke-dasharray="6 5"`,
        )
  }${level(height, html`stroke="var(--line)" stroke-width="2"`)}${shapes}</svg>`;
}

/** How much of a track is filled, from 0 to 1. */
export function shareBar(label: string, share: number, tone: string): Html {
  return html`<svg class="age-bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${label}"><rect fill="var(--track)" width="100" height="8"/><rect fill="var(--${tone}-fill)" width="${fixed(Math.max(1, share * 100))}" height="8"/></svg>`;
}

/** Bars of weeks; the newest is the last. */
export function sparkline(weeks: readonly number[]): Html {
  const most = Math.max(1, ...weeks);
  const bars = weeks.map((messages, at) => {
    if (messages === 0) return null;
    const tall = Math.max(1.5, (messages / most) * 20);
    return html`<rect x="${at * 7}" y="${fixed(20 - tall)}" width="5" height="${fixed(tall)}" fill="var(--busy-fill)"/>`;
  });
  const label = `Messages in each of the last ${weeks.length} weeks: ${weeks.join(', ')}`;
  return html`<svg class="spark" viewBox="0 0 ${weeks.length * 7} 20" role="img" aria-label="${label}"><line x1="0" y1="20" x2="${weeks.length * 7}" y2="20" stroke="var(--quiet-fill)"/>${bars}</svg>`;
}

/** The inside of a picture: where something is drawn, in pixels from its upper left corner. */
interface Area {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

function areaOf(
  width: number,
  height: number,
  padding: Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>,
): Area {
  const { left, right, top, bottom } = padding;
  return { width, height, left, right: width - right, top, bottom: height - bottom };
}

interface Place {
  readonly start: number;
  readonly middle: number;
  readonly width: number;
}

/** Equal places side by side; `gap` is the share of a place that stays free before the next. */
function bandsOf({ left, right }: Area, places: number, gap: number): (at: number) => Place {
  const step = (right - left) / Math.max(1, places - gap);
  const width = step * (1 - gap);
  return (at) => {
    const start = left + at * step;
    return { start, middle: start + width / 2, width };
  };
}

function heightOf({ top, bottom }: Area, value: number, most: number): number {
  return bottom - (value / most) * (bottom - top);
}

/** A scale of at most six whole steps of 1, 2 or 5 times a power of ten, which ends at or above `most`. */
function scaleUpTo(most: number): { readonly top: number; readonly step: number } {
  const wanted = Math.max(1, most) / 4;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const factor = [1, 2, 5, 10].find((one) => one * power >= wanted) ?? 10;
  const step = Math.max(1, factor * power);
  return { top: Math.ceil(Math.max(1, most) / step) * step, step };
}

function stacks(
  area: Area,
  places: readonly string[],
  series: readonly Series[],
  most: number,
  placeOf: (at: number) => Place,
): Html[] {
  return places.map((_, at) => {
    const { start, width } = placeOf(at);
    let from = 0;
    const pieces = series.map(({ values, color }) => {
      const value = values[at] ?? 0;
      const lower = heightOf(area, from, most);
      from += value;
      const upper = heightOf(area, from, most);
      return value === 0 ? null : rect(start, upper, width, lower - upper, color);
    });
    return html`${pieces}`;
  });
}

function totalsOf(places: readonly string[], series: readonly Series[]): number[] {
  return places.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
}

const markText = html`font-family="system-ui, sans-serif" font-size="13"`;
const axisText = html`font-family="system-ui, sans-serif" font-size="12" fill="var(--quiet)"`;

/** Pixels of a narrow character in a text of 13 pixels: wide fonts included, so that a label never runs into its bar. */
const perColumn = 7.4;

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end'): Html {
  return html`<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}">${content}</text>`;
}

function rect(x: number, y: number, width: number, height: number, color: string): Html {
  return html`<rect x="${fixed(x)}" y="${fixed(y)}" width="${fixed(width)}" height="${fixed(height)}" fill="var(--${color})"/>`;
}

function baseLine({ left, right, bottom }: Area): Html {
  return html`<line x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}" stroke="var(--line)"/>`;
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** `950`, `1.5k`, `20k`. */
function short(value: number): string {
  return value < 1000 ? String(value) : `${value / 1000}k`;
}

/** `16 Nov`; the dates are UTC. */
function dayAndMonth(date: string): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' }).format(
    Date.parse(date),
  );
}

function svg({ width, height }: Area, content: Html): Html {
  return html`<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" aria-hidden="true">${content}</svg>`;
}

function drawn(label: string, picture: (width: Width) => Html): Html {
  return html`<div class="chart" role="img" aria-label="${label}"><div class="wide">${picture(widths.wide)}</div><div class="narrow">${picture(widths.narrow)}</div></div>`;
}
