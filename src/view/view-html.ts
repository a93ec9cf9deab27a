import { count, plainWord } from '../base/units.js';
import { badge, Html, html, notListed, type Piece, section, table } from './html.js';
import type { Times } from './times.js';
import type { Block, Changes, Fact, FieldChange, Section, Todo, View, Words } from './view.js';

/** How a page shows moments and links. */
export interface Look {
  readonly times: Times;
  /** A link to another page of the site. */
  readonly link: (path: string) => string;
}

/** The fields whose values are words of the API. */
const wordFields = ['priority', 'lifecycle_state'];

/** The most lines of a list or a table, so that a page stays one that a browser can show. */
const maxListed = 1_000;

/** A view as sections of a page. */
export function viewHtml(view: View, look: Look): Html {
  return html`${view.map((one) => sectionHtml(one, look))}`;
}

export function sectionHtml({ id, heading, blocks, isClosed = false }: Section, look: Look): Html | null {
  const shown = blocks.map((one) => blockHtml(one, id, heading, look)).filter((one) => one !== null);
  if (shown.length === 0) return null;
  if (!isClosed) return section(id, heading, ...shown);
  const [first] = blocks;
  const rows = first === undefined ? [] : 'rows' in first ? first.rows : 'list' in first ? first.list : [];
  const number = rows.length > 0 ? html` <span class="quiet">(${count(rows.length)})</span>` : null;
  return html`<details id="${id}" class="card"><summary>${heading}${number}</summary>${shown}</details>\n`;
}

function blockHtml(block: Block, id: string, heading: string, look: Look): Html | null {
  if (block instanceof Html) return block;
  if ('sentence' in block)
    return isEmpty(block.sentence) ? null : html`<p>${pieceOf(block.sentence, look)}</p>`;
  if ('commands' in block)
    return block.commands.length === 0 ? null : html`${block.commands.map(commandHtml)}`;
  if ('facts' in block) return factsHtml(block.facts, look);
  if ('list' in block) {
    const lines = block.list.slice(0, maxListed).map((one) => html`<li>${pieceOf(one, look)}</li>\n`);
    return lines.length === 0
      ? null
      : html`<ul class="lines">${lines}</ul>${notListed(block.list.length - lines.length)}`;
  }
  if ('todo' in block) return todoHtml(block, look);
  if ('changes' in block) return changesHtml(block, id, look);
  if (block.rows.length === 0) return null;
  const rows = block.rows.slice(0, maxListed).map((row) => row.map((cell) => pieceOf(cell, look)));
  return html`${table(`${id}-table`, heading, block.columns, rows)}${notListed(block.rows.length - rows.length)}`;
}

/** Names and values; null when there are none. */
export function factsHtml(facts: readonly Fact[], look: Look): Html | null {
  const shown = facts.filter(([, value]) => !isEmpty(value));
  if (shown.length === 0) return null;
  return html`<dl>${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${pieceOf(value, look)}</dd></div>\n`)}</dl>`;
}

function changesHtml({ changes }: Changes, id: string, look: Look): Html | null {
  if (changes.length === 0) return null;
  const hasState = changes.some(({ state }) => state !== undefined);
  const rows = changes.slice(0, maxListed).map(({ what, fields, state = null }) => {
    const cells = [pieceOf(what, look), fields.map(fieldHtml)];
    return hasState ? [...cells, pieceOf(state, look)] : cells;
  });
  const columns = hasState ? ['Title', 'Change', 'State'] : ['Title', 'Change'];
  return html`${table(`${id}-table`, 'Changes', columns, rows)}${notListed(changes.length - rows.length)}`;
}

/** A field with its value before and after; what people wrote stays as they wrote it. */
export function fieldHtml({ name, from, to }: FieldChange): Html {
  const shown = (value: string) => (wordFields.includes(name) ? plainWord(value) : value);
  return html`<span class="value">${plainWord(name)}: <s>${shown(from)}</s> → <strong>${shown(to)}</strong></span> `;
}

function todoHtml({ todo }: Todo, look: Look): Html | null {
  if (todo.length === 0) return null;
  const entries = todo.map(
    ({ tone, title, reason, commands }) => html`<li class="${tone}">
<h3>${title}</h3>
<p class="message">${pieceOf(reason, look)}</p>
${commands.map(commandHtml)}
</li>\n`,
  );
  return html`<ol class="attention">${entries}</ol>`;
}

/** A command with a button that copies it. */
function commandHtml(command: string): Html {
  return html`<div class="command"><code>${command}</code><button type="button" class="copy">Copy</button></div>`;
}

function isEmpty(words: Words): boolean {
  return words === null || words === '' || (Array.isArray(words) && words.every(isEmpty));
}

function pieceOf(words: Words, look: Look): Piece {
  if (typeof words === 'number') return count(words);
  if (words === null || typeof words === 'string' || words instanceof Html) return words;
  if ('as' in words) return words.as === 'age' ? look.times.since(words.at) : look.times.at(words.at);
  if ('badge' in words) return badge(words.tone, words.badge);
  if ('path' in words) return html`<a href="${look.link(words.path)}">${pieceOf(words.words, look)}</a>`;
  if ('code' in words) return html`<code>${words.code}</code>`;
  if ('note' in words)
    return isEmpty(words.note)
      ? null
      : html`<span class="quiet message"> ${pieceOf(words.note, look)}</span>`;
  return words.map((one) => pieceOf(one, look));
}
