import { closestMatch, folded } from '../../base/closest.js';
import { type Cell, noResult } from '../../sheet/grid.js';
import type { Field, Value } from '../change.js';

/** What a cell asks for: nothing, a value, or something that is not possible. */
export type ParsedCell =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'problem'; readonly problem: string; readonly allowed?: readonly string[] };

/** Spreadsheet programs write TRUE and FALSE into a CSV file in the language of their user. */
const trueWords = new Set([
  'true',
  'yes',
  'y',
  't',
  '1',
  'x',
  'on',
  'wahr',
  'vrai',
  'verdadero',
  'vero',
  'waar',
]);
const falseWords = new Set(['false', 'no', 'n', 'f', '0', 'off', 'falsch', 'faux', 'falso', 'onwaar']);
const booleans = ['TRUE', 'FALSE'] as const;

/** The lifecycle state that only the service sets. */
const serviceState = 'unknown';

/** What people write for a value, in words that are not spelled like it. They are never taken for it: a person decides. */
const usualWords: Readonly<Record<string, readonly string[]>> = {
  very_high: ['p0', 'urgent', 'critical', 'blocker', 'highest', 'sehrhoch', 'dringend'],
  high: ['p1', 'hoch', 'important', 'haute', 'alta'],
  default: ['p2', 'medium', 'normal', 'mittel', 'none'],
  low: ['p3', 'niedrig', 'minor', 'basse', 'baja'],
  very_low: ['p4', 'lowest', 'trivial', 'sehrniedrig'],
  open: ['new', 'todo', 'offen', 'reopened'],
  in_progress: ['wip', 'doing', 'started', 'active', 'inarbeit'],
  completed: ['done', 'closed', 'fixed', 'resolved', 'erledigt', 'fertig'],
  dismissed: ['wontfix', 'rejected', 'declined', 'invalid', 'abgelehnt'],
};

/** The text of a cell as a person sees it, or null when it is empty. */
export function textOf(cell: Cell | undefined): string | null {
  if (cell === null || cell === undefined) return null;
  if (cell instanceof Date) return cell.toISOString().replace(/T00:00:00\.000Z$/, '');
  if (typeof cell === 'boolean') return cell ? 'TRUE' : 'FALSE';
  const text = String(cell).trim();
  return text === '' ? null : text;
}

/** Characters that look like a hyphen, and those that nobody sees: what is copied from a web page or a chat has them. */
const hyphens = /[\u2010\u2011\u2012\u2013\u2212\uFE63\uFF0D]/gu;
const unseen =
  /[\p{Cf}\p{Cc}\p{Variation_Selector}\u00A0\u115F\u1160\u2000-\u200A\u202F\u205F\u3000\u3164]/gu;

/**
 * The id in a cell: without what cannot be seen, with plain hyphens, and out of `="…"`, with which programs keep a spreadsheet
 * from changing it. Null when the cell is empty.
 */
export function idOf(cell: Cell | undefined): string | null {
  const text = textOf(cell);
  if (text === null || textProblem(text) !== null) return text;
  const [, inner = text] = /^=?"(.*)"$/su.exec(text) ?? [];
  return inner.replace(unseen, '').replace(hyphens, '-').trim() || null;
}

/** A text of which everything can be seen, for messages: an invisible character is shown as its number. */
export function visible(text: string): string {
  return text.replace(
    unseen,
    (found) => `<U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`,
  );
}

/** Why no column can have a text: it is a formula without a value, or DuckDB's JSON reader refuses it; null when it can. */
export function textProblem(text: string | null): string | null {
  if (text === noResult)
    return 'is a formula without a stored value: open the file in a spreadsheet program and save it there, or type the value';
  const at = text?.search(/\0|\p{Cs}/u) ?? -1;
  if (text === null || at === -1) return null;
  const code = text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0');
  return `contains a character that cannot be stored (U+${code}, character ${at + 1}): delete it`;
}

/** Why a number is not the digits that a person typed: with more than 15, a spreadsheet program has rounded it; null when it is. */
export function roundedProblem(cell: Cell | undefined): string | null {
  if (typeof cell !== 'number' || (Number.isInteger(cell) && Math.abs(cell) < 1e15)) return null;
  return 'is a number that may have lost digits: format the cell as text';
}

/** Reads a cell of a column that can be edited: tolerant about spelling, strict about meaning. */
export function parseCell(field: Field, cell: Cell | undefined): ParsedCell {
  const text = textOf(cell);
  if (text === null) return { kind: 'nothing' };
  const problem = textProblem(text);
  if (problem !== null) return { kind: 'problem', problem };
  if (field.kind === 'boolean') return parseBoolean(text);
  if (field.allowed) return parseChoice(text, field.allowed, field.name);
  return parseText(field, cell, text);
}

/** Reads a cell of a base column, which may also have a value that nobody can set. Undefined when the value is not known. */
export function parseBaseCell(field: Field, cell: Cell | undefined): Value | undefined | 'damaged' {
  const text = textOf(cell);
  if (field.kind === 'boolean') {
    if (text === null) return undefined;
    const parsed = parseBoolean(text);
    return parsed.kind === 'value' ? parsed.value : 'damaged';
  }
  if (text === null || !field.allowed) return text;
  return [...field.allowed, serviceState].find((one) => folded(one) === folded(text)) ?? text;
}

function parseBoolean(text: string): ParsedCell {
  const word = folded(text);
  if (trueWords.has(word) || text === '✓' || text === '✔') return { kind: 'value', value: true };
  if (falseWords.has(word)) return { kind: 'value', value: false };
  return { kind: 'problem', problem: 'is neither TRUE nor FALSE', allowed: booleans };
}

function parseChoice(text: string, allowed: readonly string[], name: string): ParsedCell {
  const found = allowed.find((one) => folded(one) === folded(text));
  if (found !== undefined) return { kind: 'value', value: found };
  if (name === 'lifecycle_state' && folded(text) === serviceState) {
    return { kind: 'problem', problem: 'can only be set by the service', allowed };
  }
  const guess = allowed.find((one) => usualWords[one]?.includes(folded(text))) ?? closestMatch(text, allowed);
  const hint = guess === undefined ? '' : `; did you mean ${guess}?`;
  return { kind: 'problem', problem: `is not a ${name}${hint}`, allowed };
}

function parseText(field: Field, cell: Cell | undefined, text: string): ParsedCell {
  if (cell instanceof Date)
    return { kind: 'problem', problem: 'is a date; expected text: format the cell as text' };
  if (typeof cell === 'boolean')
    return { kind: 'problem', problem: 'is a boolean; expected text: format the cell as text' };
  const rounded = roundedProblem(cell);
  if (rounded !== null) return { kind: 'problem', problem: rounded };
  if (isFormulaError(text)) return { kind: 'problem', problem: 'is a formula error' };
  if (field.format === undefined) return { kind: 'value', value: text };
  const value = formatted[field.format](text);
  if (value !== null) return { kind: 'value', value };
  return { kind: 'problem', problem: `is not ${examples[field.format]}` };
}

/** The text as it is stored; null when it is not what it should be. */
const formatted = {
  'web address': (text: string) => (isWebAddress(text) ? text : null),
  domain: domainIn,
  'e-mail address': (text: string) => {
    const [, name, domain] = /^(?:mailto:)?([^\s@<>,;:"]+)@([^\s@]+)$/i.exec(text) ?? [];
    const host = domain === undefined ? null : domainName(domain);
    return name === undefined || host === null ? null : `${name}@${host}`;
  },
} as const;

const examples: Readonly<Record<NonNullable<Field['format']>, string>> = {
  'web address': 'an address that starts with https:// or http://',
  domain: 'a domain: write it like acme.example',
  'e-mail address': 'an e-mail address: write one, like kim@acme.example',
};

/** The domain of an address that was copied from a browser, or of the domain itself. */
function domainIn(text: string): string | null {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  if (text.includes('@') || /\s/.test(text) || !isWebAddress(address)) return null;
  return domainName(new URL(address).hostname.replace(/^www\./, ''));
}

/** A host name with at least two parts, in the form that the DNS has; null when it is none. */
function domainName(text: string): string | null {
  const address = `https://${text}`;
  const host = URL.canParse(address) ? new URL(address).hostname.replace(/\.$/, '') : '';
  const isName =
    /^(?=.{4,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)+([a-z]{2,63}|xn--[a-z0-9-]{1,59})$/.test(host);
  return isName && !/[/?#]/.test(text) ? host : null;
}

export function isFormulaError(text: string): boolean {
  return /^#(REF!|N\/A|VALUE!|NAME\?|DIV\/0!|NULL!|NUM!)$/.test(text);
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
