import type { Cell } from '../../sheet/grid.js';
import type { Field, Value } from '../fields.js';
import { folded, nearest } from './spelling.js';

/** What a cell says: nothing, a value, or something that cannot be meant. */
export type Said =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'problem'; readonly problem: string; readonly allowed?: readonly string[] };

/** Spreadsheet programs write TRUE and FALSE into a CSV file in the language of their user. */
const yes = new Set(['true', 'yes', 'y', 't', '1', 'x', 'on', 'wahr', 'vrai', 'verdadero', 'vero', 'waar']);
const no = new Set(['false', 'no', 'n', 'f', '0', 'off', 'falsch', 'faux', 'falso', 'onwaar']);
const booleans = ['TRUE', 'FALSE'] as const;

/** Lifecycle states that the service alone gives. */
const assessed = 'unknown';

/** The text of a cell as a person sees it, or null when it is empty. */
export function textOf(cell: Cell | undefined): string | null {
  if (cell === null || cell === undefined) return null;
  if (cell instanceof Date) return cell.toISOString().replace(/T00:00:00\.000Z$/, '');
  if (typeof cell === 'boolean') return cell ? 'TRUE' : 'FALSE';
  const text = String(cell).trim();
  return text === '' ? null : text;
}

/** Whether two cells show the same: then nothing was edited, whatever stands there. */
export function showSame(one: Cell | undefined, other: Cell | undefined): boolean {
  return textOf(one) === textOf(other);
}

/** Reads a cell of a column that can be edited: forgiving about spelling, strict about meaning. */
export function read(field: Field, cell: Cell | undefined): Said {
  const text = textOf(cell);
  if (text === null) return { kind: 'nothing' };
  if (field.kind === 'boolean') return readBoolean(text);
  if (field.allowed) return readChoice(text, field.allowed, field.name);
  return readText(field, cell, text);
}

/** Reads a base column, which says what was there: also what nobody may set. Undefined when it does not say. */
export function readBase(field: Field, cell: Cell | undefined): Value | undefined | 'damaged' {
  const text = textOf(cell);
  if (field.kind === 'boolean') {
    if (text === null) return undefined;
    const said = readBoolean(text);
    return said.kind === 'value' ? said.value : 'damaged';
  }
  if (text === null) return null;
  const same = [...(field.allowed ?? []), assessed].find((one) => folded(one) === folded(text));
  return field.allowed ? (same ?? text) : text;
}

function readBoolean(text: string): Said {
  const name = folded(text);
  if (yes.has(name) || text === '✓' || text === '✔') return { kind: 'value', value: true };
  if (no.has(name)) return { kind: 'value', value: false };
  return { kind: 'problem', problem: 'is neither TRUE nor FALSE', allowed: booleans };
}

function readChoice(text: string, allowed: readonly string[], name: string): Said {
  const found = allowed.find((one) => folded(one) === folded(text));
  if (found !== undefined) return { kind: 'value', value: found };
  if (name === 'lifecycle_state' && folded(text) === assessed) {
    const problem = 'is given by the service alone and cannot be set';
    return { kind: 'problem', problem, allowed };
  }
  const guess = nearest(text, allowed);
  const problem = `is no ${name}${guess === undefined ? '' : `; is ${guess} meant?`}`;
  return { kind: 'problem', problem, allowed };
}

function readText(field: Field, cell: Cell | undefined, text: string): Said {
  if (cell instanceof Date)
    return { kind: 'problem', problem: 'is a date, and text should be here: format the cell as text' };
  if (typeof cell === 'boolean')
    return { kind: 'problem', problem: `is ${text}, and text should be here: format the cell as text` };
  // Beyond 15 digits a spreadsheet program has rounded it.
  if (typeof cell === 'number' && (!Number.isInteger(cell) || Math.abs(cell) >= 1e15))
    return { kind: 'problem', problem: 'is a number that may have lost digits: format the cell as text' };
  if (/^#(REF!|N\/A|VALUE!|NAME\?|DIV\/0!|NULL!|NUM!)$/.test(text))
    return { kind: 'problem', problem: 'is the error of a formula' };
  if (field.name === 'logo_url' && !isAddress(text))
    return { kind: 'problem', problem: 'is no address that begins with https://' };
  return { kind: 'value', value: text };
}

function isAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
