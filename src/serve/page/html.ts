import { type Iso, millis } from '../../base/clock.js';
import { type Html, html, type Piece } from '../../base/html.js';
import { ago, count, duration } from '../../base/units.js';
import { wallAt } from '../schedule/zone.js';

/** A state, shown as a word with a mark, never by colour alone. */
export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet';

export function badge(tone: Tone, text: string): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const dayMs = 86_400_000;

/** Moments as the page shows them: as an age, or by the clock of one time zone. Each has the exact time as its title. */
export class Times {
  constructor(
    readonly now: number,
    /** A time zone that this machine knows. */
    readonly zone: string,
  ) {}

  /** `3 min ago`. */
  since(at: Iso | null): Html {
    return this.#time(at, (ms) => ago(ms, this.now));
  }

  /** `126 d`, or `5 h` within a day: for lists. */
  age(at: Iso | null): Html {
    return this.#time(at, (ms) => {
      const hours = Math.max(0, this.now - ms) / 3_600_000;
      return hours < 24 ? `${Math.floor(hours)} h` : `${count(Math.floor(hours / 24))} d`;
    });
  }

  /** `in 6 h 20 min`, or `now`. */
  until(at: Iso | null): Html {
    return this.#time(at, (ms) => (ms <= this.now ? 'now' : `in ${duration(ms - this.now)}`));
  }

  /** `today 03:00`, `Monday 03:00` within a week, `21 Nov 03:00` otherwise. */
  at(at: Iso | null): Html {
    return this.#time(at, (ms) => this.#clock(ms));
  }

  /** `03:00`. */
  hour(ms: number): string {
    return new Date(wallAt(ms, this.zone)).toISOString().slice(11, 16);
  }

  #clock(ms: number): string {
    const [wall, today] = [wallAt(ms, this.zone), wallAt(this.now, this.zone)];
    const date = new Date(wall);
    const away = Math.floor(wall / dayMs) - Math.floor(today / dayMs);
    const near = { '-1': 'yesterday', 0: 'today', 1: 'tomorrow' }[away];
    const month = `${date.getUTCDate()} ${months[date.getUTCMonth()]}`;
    const year = date.getUTCFullYear();
    const far = year === new Date(today).getUTCFullYear() ? month : `${month} ${year}`;
    const day = near ?? (Math.abs(away) < 7 ? days[date.getUTCDay()] : far);
    return `${day} ${this.hour(ms)}`;
  }

  #time(at: Iso | null, text: (ms: number) => string): Html {
    const ms = millis(at);
    if (ms === null) return html`<span class="quiet">never</span>`;
    const exact = new Date(wallAt(ms, this.zone)).toISOString().slice(0, 19).replace('T', ' ');
    return html`<time datetime="${new Date(ms).toISOString()}" title="${exact} ${this.zone}">${text(ms)}</time>`;
  }
}

/**
 * A table; a column whose name ends in # holds numbers. On a narrow screen each row becomes a block, in which each value
 * carries the name of its column; the roles say that it is a table all the same. `head` is what stands above a column instead of
 * its name, such as a link.
 */
export function table(
  id: string,
  label: string,
  columns: readonly string[],
  rows: readonly Row[],
  head: (name: string, at: number) => Piece = (name) => name,
): Html {
  const names = columns.map((name) => name.replace(/#$/, ''));
  const kinds = columns.map((name) => (name.endsWith('#') ? 'number' : 'text'));
  const cell = (piece: Piece, index: number) => {
    const kind = kinds[index] ?? 'text';
    const shown = typeof piece === 'number' ? count(piece) : piece;
    return index === 0
      ? html`<th scope="row" role="rowheader" class="${kind}">${shown}</th>`
      : html`<td role="cell" class="${kind}" data-name="${names[index] ?? ''}">${shown}</td>`;
  };
  return html`<table id="${id}" role="table" aria-label="${label}">
<thead role="rowgroup"><tr role="row">${names.map((name, index) => html`<th scope="col" role="columnheader" class="${kinds[index] ?? 'text'}">${head(name, index)}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => html`<tr role="row">${row.map(cell)}</tr>\n`)}</tbody>
</table>`;
}

export type Row = readonly Piece[];

/** A whole document. With `refreshMs`, it keeps itself up to date; `script` is a file of assets. */
export function documentOf(
  {
    title,
    refreshMs,
    script,
  }: { readonly title: string; readonly refreshMs: number | null; readonly script?: string | undefined },
  body: Html,
): string {
  const live = html`<noscript><meta http-equiv="refresh" content="15"></noscript>
<script src="/assets/live.js" defer></script>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title === 'Signalhouse' ? title : `${title} · Signalhouse`}</title>
<link rel="stylesheet" href="/assets/page.css">
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
${refreshMs === null ? null : live}${script === undefined ? null : html`<script src="/assets/${script}" defer></script>`}
</head>
<body data-refresh-ms="${refreshMs}">
${body}
</body>
</html>
`.text;
}

/** Why there is no page to show, and the way back. */
export function errorPage(message: string): string {
  return documentOf(
    { title: 'No page', refreshMs: null },
    html`<main id="main" class="narrow"><section><h1>No page</h1><p>${message}</p><p><a href="/">To the start</a></p></section></main>`,
  );
}

/** A section labelled by its heading, for screen readers. */
export function section(id: string, heading: string, ...content: readonly Piece[]): Html {
  return html`<section id="${id}" aria-labelledby="${id}-heading"><h2 id="${id}-heading">${heading}</h2>${content}</section>\n`;
}

/** `topics, people and companies`. */
export function listed(names: readonly string[]): string {
  return new Intl.ListFormat('en-GB').format(names);
}
