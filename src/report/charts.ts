import { type Axis, type EncodeEntry, type Mark, parse, type Scale, type Spec, View } from 'vega';
import { cut, widthOf } from '../base/display-width.js';
import { Html, html } from '../base/html.js';
import { count } from '../base/units.js';

/**
 * Charts as SVG, drawn on the server. Each is drawn twice, for a laptop and for a phone, because text in a picture that
 * shrinks to a third cannot be read; the style sheet shows one of them. Colours are the custom properties of that style
 * sheet, so that light, dark and print need no other picture.
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
export function weeklyColumns(
  label: string,
  weeks: readonly string[],
  series: readonly Series[],
): Promise<Html> {
  return drawn(label, (width) => {
    const every = Math.max(1, Math.ceil(weeks.length / (width === widths.wide ? 13 : 5)));
    const valueAxis: Axis = {
      scale: 'y',
      orient: 'left',
      domain: false,
      ticks: false,
      tickCount: 4,
      tickMinStep: 1,
      grid: true,
      gridColor: 'var(--line)',
      format: '~s',
      labelPadding: 6,
      ...axisText,
    };
    const weekAxis: Axis = {
      ...placeAxis,
      values: weeks.filter((_, index) => index % every === (weeks.length - 1) % every),
      encode: { labels: { update: { text: { signal: dayAndMonth } } } },
    };
    return {
      ...frame(width, width === widths.wide ? 240 : 190, { left: 40, right: 18, top: 8, bottom: 28 }),
      data: [{ name: 'stacked', values: stacked(weeks, series) }],
      scales: [places(weeks, 0.18), values(highest(weeks, series))],
      axes: [valueAxis, weekAxis],
      marks: [stackedColumns],
    };
  });
}

/** A stack for each of a few named groups, with the total above it as `text` writes it. */
export function groupColumns(
  label: string,
  groups: readonly string[],
  series: readonly Series[],
  text: (total: number) => string = count,
): Promise<Html> {
  const totals = totalsOf(groups, series).map((total, index) => {
    return { at: groups[index], total, text: text(total) };
  });
  const totalTexts: Mark = {
    type: 'text',
    from: { data: 'totals' },
    encode: {
      enter: {
        x: { scale: 'x', field: 'at', band: 0.5 },
        y: { scale: 'y', field: 'total', offset: -6 },
        align: { value: 'center' },
        text: { field: 'text' },
        ...markText('var(--text)', 600),
      },
    },
  };
  return drawn(label, (width) => ({
    ...frame(width, 200, { left: 10, right: 10, top: 24, bottom: 28 }),
    data: [
      { name: 'stacked', values: stacked(groups, series) },
      { name: 'totals', values: totals },
    ],
    scales: [places(groups, 0.25), values(highest(groups, series))],
    axes: [placeAxis],
    marks: [stackedColumns, totalTexts],
  }));
}

export interface Bar {
  readonly label: string;
  /** Drawn one after the other. */
  readonly parts: readonly { readonly value: number; readonly color: string }[];
  /** What stands behind the bar, such as `26, was 1`. */
  readonly note: string;
}

/** One bar for each row: beside its label, or below it where there is no room beside it. */
export function bars(label: string, rows: readonly Bar[]): Promise<Html> {
  const sums = rows.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const longest = Math.max(...rows.map((row) => widthOf(row.label)));
  const noteWidth = 12 + 8 * Math.max(...rows.map(({ note }) => note.length));
  return drawn(label, (width) => {
    const beside = width === widths.wide;
    const start = beside ? Math.min(460, 20 + perColumn * longest) : 0;
    const rowHeight = beside ? 30 : 46;
    const perUnit = (width - start - noteWidth) / Math.max(1, ...sums);
    const pieces = rows.flatMap(({ parts }, row) => {
      let from = start;
      return parts.map(({ value, color }) => {
        const piece = { row, x: from, width: perUnit * value, color: `var(--${color})` };
        from += piece.width;
        return piece;
      });
    });
    const texts = rows.map(({ label: text, note }, row) => {
      const end = start + perUnit * (sums[row] ?? 0) + 8;
      return { row, text: cut(text, (beside ? start - 12 : width) / perColumn), note, end };
    });
    const y = (offset: number) => ({ signal: `datum.row * ${rowHeight} + ${offset}` });
    type Place = { value: number } | { field: string };
    const text = (field: string, x: Place, offset: number, color: string): Mark => ({
      type: 'text',
      from: { data: 'texts' },
      encode: { enter: { x, y: y(offset), text: { field }, ...markText(color) } },
    });
    return {
      ...frame(width, rows.length * rowHeight, { left: 0, right: 0, top: 0, bottom: 0 }),
      data: [
        { name: 'pieces', values: pieces },
        { name: 'texts', values: texts },
      ],
      marks: [
        text('text', { value: 0 }, beside ? 20 : 16, 'var(--text)'),
        {
          type: 'rect',
          from: { data: 'pieces' },
          encode: {
            enter: {
              x: { field: 'x' },
              width: { field: 'width' },
              fill: { field: 'color' },
              y: y(beside ? 7 : 23),
              height: { value: beside ? 17 : 14 },
            },
          },
        },
        text('note', { field: 'end' }, beside ? 20 : 35, 'var(--quiet)'),
      ],
    };
  });
}

const font = 'system-ui, sans-serif';
const axisText: Partial<Axis> = { labelFont: font, labelFontSize: 12, labelColor: 'var(--quiet)' };
const placeAxis: Axis = {
  scale: 'x',
  orient: 'bottom',
  ticks: false,
  domainColor: 'var(--line)',
  labelPadding: 8,
  ...axisText,
};

function markText(color: string, weight = 400): EncodeEntry {
  return {
    fill: { value: color },
    font: { value: font },
    fontSize: { value: 13 },
    fontWeight: { value: weight },
  };
}

/** The size of the whole picture is `width` by `height`; what is drawn keeps free what `padding` says. */
function frame(
  width: Width,
  height: number,
  { left, right, top, bottom }: Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>,
): Spec {
  return {
    width: width - left - right,
    height: height - top - bottom,
    padding: { left, right, top, bottom },
    autosize: 'none',
  };
}

function places(names: readonly string[], paddingInner: number): Scale {
  return { name: 'x', type: 'band', domain: [...names], range: 'width', paddingInner };
}

function values(most: number): Scale {
  return { name: 'y', type: 'linear', domain: [0, Math.max(1, most)], nice: 4, range: 'height' };
}

const stackedColumns: Mark = {
  type: 'rect',
  from: { data: 'stacked' },
  encode: {
    enter: {
      x: { scale: 'x', field: 'at' },
      width: { scale: 'x', band: 1 },
      y: { scale: 'y', field: 'to' },
      y2: { scale: 'y', field: 'from' },
      fill: { field: 'color' },
    },
  },
};

/** `16 Nov`; the dates are UTC. */
const dayAndMonth = "utcFormat(utcParse(datum.value, '%Y-%m-%d'), '%-d %b')";

function stacked(names: readonly string[], series: readonly Series[]) {
  return names.flatMap((at, index) => {
    let from = 0;
    return series.map((one) => {
      const to = from + (one.values[index] ?? 0);
      const piece = { at, from, to, color: `var(--${one.color})` };
      from = to;
      return piece;
    });
  });
}

function totalsOf(names: readonly string[], series: readonly Series[]): number[] {
  return names.map((_, index) => series.reduce((sum, one) => sum + (one.values[index] ?? 0), 0));
}

function highest(names: readonly string[], series: readonly Series[]): number {
  return Math.max(0, ...totalsOf(names, series));
}

/**
 * Pixels of a narrow character in a text of 13 pixels: wide fonts included, so that a label never runs into its bar. Vega
 * cuts texts to a width as well, but without a canvas it takes them for a third wider than they are.
 */
const perColumn = 7.4;

async function drawn(label: string, spec: (width: Width) => Spec): Promise<Html> {
  const [wide, narrow] = await Promise.all([svg(spec(widths.wide)), svg(spec(widths.narrow))]);
  return html`<div class="chart" role="img" aria-label="${label}"><div class="wide">${wide}</div><div class="narrow">${narrow}</div></div>`;
}

async function svg(spec: Spec): Promise<Html> {
  const view = new View(parse(spec), { renderer: 'none' });
  try {
    // Vega escapes the texts.
    return new Html(await view.toSVG());
  } finally {
    view.finalize();
  }
}
