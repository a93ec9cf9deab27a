import { readFileSync } from 'node:fs';
import { count } from '../base/units.js';

/** The elements of every document: the pages of serve, reports and digests. */

/** Markup that is safe to send. Only `html` makes it. */
export class Html {
  constructor(readonly text: string) {}
}

/** A value in a template: markup is inserted unchanged, everything else as text. */
export type Piece = Html | string | number | null | readonly Piece[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Markup from a template. Every value is escaped for text and for quoted attributes, unless it is markup; null is left
 * out.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Piece[]): Html {
  return new Html(
    strings.reduce((text, string, index) => text + rendered(values[index - 1] ?? null) + string),
  );
}

function rendered(piece: Piece): string {
  if (piece === null) return '';
  if (piece instanceof Html) return piece.text;
  if (typeof piece === 'object') return piece.map(rendered).join('');
  return String(piece).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** How good or bad something is. */
export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet';

/** A state as a word with a mark: never by colour alone. */
export function badge(tone: Tone, text: string): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

export type Row = readonly Piece[];

const maxShort = 12;

interface TableLook {
  /** Whether its name stands above it, and is not only read aloud. */
  readonly isTitled?: boolean;
  /** What stands above a column instead of its name, such as a link. */
  readonly head?: (name: string, at: number) => Piece;
}

/**
 * A table; a column whose name ends in # holds numbers. On a narrow screen each row becomes a block, in which each value
 * carries the name of its column; the roles still say that it is a table.
 */
export function table(
  id: string | null,
  label: string,
  columns: readonly string[],
  rows: readonly Row[],
  { isTitled = false, head = (name) => name }: TableLook = {},
): Html {
  const names = columns.map((name) => name.replace(/#$/, ''));
  const kinds = columns.map((name) => (name.endsWith('#') ? 'number' : 'text'));
  const cell = (piece: Piece, index: number) => {
    const kind = kinds[index] ?? 'text';
    const shown = typeof piece === 'number' ? count(piece) : piece;
    // A word or two, such as a priority, stay in one line.
    const length = typeof shown === 'string' && shown.length <= maxShort ? ' brief' : '';
    return index === 0
      ? html`<th scope="row" role="rowheader" class="${kind}">${shown}</th>`
      : html`<td role="cell" class="${kind}${length}" data-name="${names[index] ?? ''}">${shown}</td>`;
  };
  const name = isTitled ? null : html` aria-label="${label}"`;
  return html`<table${id === null ? null : html` id="${id}"`} role="table"${name}>${isTitled ? html`<caption>${label}</caption>` : null}
<thead role="rowgroup"><tr role="row">${names.map((one, index) => html`<th scope="col" role="columnheader" class="${kinds[index] ?? 'text'}">${head(one, index)}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => html`<tr role="row">${row.map(cell)}</tr>\n`)}</tbody>
</table>`;
}

/** How many more there are than a list shows; null when it shows all. */
export function notListed(more: number): Html | null {
  return more > 0 ? html`<p class="quiet">and ${count(more)} more</p>` : null;
}

/** A section with its heading, by which screen readers name it. */
export function section(id: string, heading: string, ...content: readonly Piece[]): Html {
  return html`<section id="${id}" aria-labelledby="${id}-heading"><h2 id="${id}-heading">${heading}</h2>${content}</section>\n`;
}

/** A secondary sentence, also in place of an empty list. */
export function quiet(text: Piece): Html {
  return html`<p class="quiet">${text}</p>`;
}

/** A link to another system. An address comes from outside: only that of a web page becomes a link. */
export function linked(text: Piece, url: string | null): Piece {
  return url !== null && /^https?:\/\//i.test(url)
    ? html`<a href="${url}" rel="noreferrer">${text}</a>`
    : text;
}

interface DocumentParts {
  readonly title: string;
  /** The content of the head beside the title. */
  readonly head: Html;
  /** Attributes of the body. */
  readonly attributes?: Html;
  readonly header: Piece;
  /** Between the header and the content. */
  readonly notice?: Html;
  readonly main: Piece;
  readonly footer: Piece;
}

/** A whole document with the parts that each has. */
export function documentOf({ title, head, attributes, header, notice, main, footer }: DocumentParts): string {
  const body = html`<a class="skip" href="#main">Skip to the content</a>
<header>
${header}
</header>
${notice ?? null}<main id="main" tabindex="-1">
${main}</main>
<footer>${footer}</footer>`;
  return bareDocument({ title, head, ...(attributes && { attributes }) }, body);
}

/** A document without a header and a footer. */
export function bareDocument(
  { title, head, attributes }: Pick<DocumentParts, 'title' | 'head' | 'attributes'>,
  body: Html,
): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${head}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
</head>
<body${attributes ?? null}>
${body}
</body>
</html>
`.text;
}

/** The style sheet that every document has. */
export function styleSheet(): string {
  return readFileSync(new URL('assets/style.css', import.meta.url), 'utf8');
}
