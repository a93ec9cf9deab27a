import { domainToASCII } from 'node:url';
import { closestMatch, folded } from '../../base/closest.js';
import { type Cell, noResult } from '../../sheet/grid.js';
import type { Field, Value } from '../fields.js';

/** What a cell asks for: nothing, a value, or something that is not possible. */
type ParsedCell =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'problem'; readonly problem: string; readonly allowed?: readonly string[] };

/** Spreadsheet programs write TRUE and FALSE into a CSV file in the language of their user. */
const trueWords = 'true yes y t 1 x on wahr vrai verdadero vero waar'.split(' ');
const falseWords = 'false no n f 0 off falsch faux falso onwaar'.split(' ');

/** The lifecycle state that only the service sets. */
const serviceState = 'unknown';

/** What people write for a value, in words that are not spelled like it. They are never taken for it: a person decides. */
const usualWords: Readonly<Record<string, string>> = {
  very_high: 'p0 urgent critical blocker highest sehrhoch dringend',
  high: 'p1 hoch important haute alta',
  default: 'p2 medium normal mittel none',
  low: 'p3 niedrig minor basse baja',
  very_low: 'p4 lowest trivial sehrniedrig',
  open: 'new todo offen reopened',
  in_progress: 'wip doing started active inarbeit',
  completed: 'done closed fixed resolved erledigt fertig',
  dismissed: 'wontfix rejected declined invalid abgelehnt',
};

/** The text of a cell as a person sees it, or null when it is empty. */
export function textOf(cell: Cell | undefined): string | null {
  if (cell === null || cell === undefined) return null;
  if (cell instanceof Date) return cell.toISOString().replace(/T00:00:00\.000Z$/, '');
  if (typeof cell === 'boolean') return cell ? 'TRUE' : 'FALSE';
  return String(cell).trim() || null;
}

/** Characters that look like a hyphen, and invisible ones: what is copied from a web page or a chat has them. */
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
  return text.replace(unseen, (found) => `<${codeOf(found)}>`);
}

function codeOf(text: string): string {
  return `U+${text.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Why no column can have a text: it is a formula without a value, or DuckDB's JSON reader refuses it; null when it can. */
export function textProblem(text: string | null): string | null {
  if (text === noResult)
    return 'is a formula without a stored value: open the file in a spreadsheet program and save it there, or type the value';
  const at = text?.search(/\0|\p{Cs}/u) ?? -1;
  return text === null || at === -1
    ? null
    : `contains a character that cannot be stored (${codeOf(text.slice(at))}, character ${at + 1}): delete it`;
}

/** Why a number is not the digits that a person typed: with more than 15, a spreadsheet program has rounded it; null when it is. */
export function roundedProblem(cell: Cell | undefined): string | null {
  if (typeof cell !== 'number' || (Number.isInteger(cell) && Math.abs(cell) < 1e15)) return null;
  return 'is a number that may have lost digits: format the cell as text';
}

/** Whether a text is the error of a formula. */
export function isFormulaError(text: string): boolean {
  return /^#(REF!|N\/A|VALUE!|NAME\?|DIV\/0!|NULL!|NUM!)$/.test(text);
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

/** Reads a cell of a base column, which may also have a value that cannot be set. Undefined when the value is not known. */
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
  if (trueWords.includes(word) || text === '✓' || text === '✔') return { kind: 'value', value: true };
  if (falseWords.includes(word)) return { kind: 'value', value: false };
  return { kind: 'problem', problem: 'is neither TRUE nor FALSE', allowed: ['TRUE', 'FALSE'] };
}

function parseChoice(text: string, allowed: readonly string[], name: string): ParsedCell {
  const word = folded(text);
  const found = allowed.find((one) => folded(one) === word);
  if (found !== undefined) return { kind: 'value', value: found };
  if (name === 'lifecycle_state' && word === serviceState)
    return { kind: 'problem', problem: 'can only be set by the service', allowed };
  const isUsual = (one: string) => usualWords[one]?.split(' ').includes(word);
  const guess = allowed.find(isUsual) ?? closestMatch(text, allowed);
  const hint = guess === undefined ? '' : `; did you mean ${guess}?`;
  return { kind: 'problem', problem: `is not a ${name}${hint}`, allowed };
}

function parseText({ format }: Field, cell: Cell | undefined, text: string): ParsedCell {
  const notText = cell instanceof Date ? 'date' : typeof cell === 'boolean' ? 'boolean' : null;
  const problem =
    (notText && `is a ${notText}; expected text: format the cell as text`) ??
    roundedProblem(cell) ??
    (isFormulaError(text) ? 'is a formula error' : null) ??
    (format === undefined || formats[format].has(text) ? null : `is not ${formats[format].example}`);
  return problem === null ? { kind: 'value', value: text } : { kind: 'problem', problem };
}

const formats = {
  'web address': {
    has: (text: string) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
    example: 'an address that starts with https:// or http://',
  },
  domain: { has: isDomain, example: 'a domain: write it like acme.example' },
  'e-mail address': {
    has: (text: string) => isDomain(/^[^\s@<>,;:"]+@([^\s@]+)$/.exec(text)?.[1] ?? ''),
    example: 'an e-mail address: write one, like kim@acme.example',
  },
} as const;

/** Whether a text is a host name with at least two parts, and nothing beside it. */
function isDomain(text: string): boolean {
  const label = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?';
  const isName = new RegExp(`^(?=.{4,253}$)(${label}\\.)+([a-z]{2,63}|xn--[a-z0-9-]{1,59})$`);
  return !/[^\p{L}\p{M}\p{N}._-]/u.test(text) && isName.test(domainToASCII(text));
}
