import { plainWord } from '../../base/units.js';
import { type Html, html, type Piece } from '../../view/html.js';

/** The controls of the pages. */

interface FormLook {
  readonly id?: string;
  readonly look?: 'fields' | 'actions';
}

/** A form that changes something: it carries the token of its page. */
export function form(path: string, token: string, content: Piece, { id, look }: FormLook = {}): Html {
  const own = [
    id === undefined ? null : html` id="${id}"`,
    look === undefined ? null : html` class="${look}"`,
  ];
  return html`<form${own} method="post" action="${path}" enctype="multipart/form-data">${hidden('token', token)}${content}</form>`;
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

/** `formnovalidate` is one that needs no field of its form; `autofocus` has the focus when the page opens. */
export function button(action: string, text: string, more?: 'formnovalidate' | 'autofocus'): Html {
  return html`<button name="action" value="${action}"${more === undefined ? null : html` ${more}`}>${text}</button>`;
}

/** The page of topics or companies that a form leads back to; null for any other. */
export function nextOf(next: unknown): string | null {
  return typeof next === 'string' && /^\/(topics|companies)([/?][^\s\\]*)?$/.test(next) ? next : null;
}

/** The part of an address that keeps it. */
export function nextQuery(next: unknown): string {
  const known = nextOf(next);
  return known === null ? '' : `?next=${encodeURIComponent(known)}`;
}

/** The options of a menu; one is its value and its words, or a value of the API. */
export function options(
  all: readonly (string | readonly [value: string, words: string])[],
  chosen = '',
): Html {
  const shown = all.map((one) => {
    const [value, words] = typeof one === 'string' ? [one, plainWord(one)] : one;
    return html`<option value="${value}"${value === chosen ? html` selected` : null}>${words}</option>`;
  });
  return html`${shown}`;
}

/** A menu with its label. */
export function menu(name: string, label: string, ...[all, chosen]: Parameters<typeof options>): Html {
  return html`<label>${label} <select name="${name}">${options(all, chosen)}</select></label>`;
}

/** A checkbox with its label. */
export function check(name: string, value: string, label: Piece, isOn = false): Html {
  return html`<label class="check"><input type="checkbox" name="${name}" value="${value}"${isOn ? html` checked` : null}> ${label}</label>`;
}
