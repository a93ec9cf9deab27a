import { type Iso, millis } from '../../base/clock.js';
import { type Html, html, type Piece } from '../../base/html.js';
import { ago, moment } from '../../base/units.js';

/** A state, shown as a word with a mark, never by colour alone. */
export type Tone = 'good' | 'bad' | 'warn' | 'quiet';

export function badge(tone: Tone, text: string): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

/** `3 min ago`, with the time as its title. */
export function since(at: Iso | null, now: number): Html {
  const ms = millis(at);
  if (ms === null) return html`<span class="quiet">never</span>`;
  return html`<time datetime="${new Date(ms).toISOString()}" title="${moment(new Date(ms))}">${ago(new Date(ms), now)}</time>`;
}

/** `2026-11-20 03:00Z`. */
export function clock(at: Iso | null): Html {
  const ms = millis(at);
  if (ms === null) return html`<span class="quiet">never</span>`;
  return html`<time datetime="${new Date(ms).toISOString()}">${moment(new Date(ms)).replace(/:\d\dZ$/, 'Z')}</time>`;
}

export interface Column {
  readonly name: string;
  readonly number?: boolean;
}

/** A table with its caption. When it is too wide, it scrolls inside its frame, also with the keyboard. */
export function table(
  id: string,
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly Piece[])[],
): Html {
  const cell = (piece: Piece, index: number) => {
    const kind = columns[index]?.number ? 'number' : 'text';
    return index === 0
      ? html`<th scope="row" class="${kind}">${piece}</th>`
      : html`<td class="${kind}">${piece}</td>`;
  };
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table id="${id}" data-live>
<caption>${caption}</caption>
<thead><tr>${columns.map(({ name, number }) => html`<th scope="col" class="${number ? 'number' : 'text'}">${name}</th>`)}</tr></thead>
<tbody>${
    rows.length === 0
      ? html`<tr><td class="quiet" colspan="${columns.length}">none</td></tr>`
      : rows.map((row) => html`<tr>${row.map(cell)}</tr>\n`)
  }</tbody>
</table></div>`;
}

/** A section labelled by its heading, for screen readers. */
export function section(id: string, heading: string, ...content: readonly Piece[]): Html {
  return html`<section aria-labelledby="${id}-heading"><h2 id="${id}-heading">${heading}</h2>${content}</section>\n`;
}
