/**
 * JSON that is changed in places and otherwise says what it said: numbers keep their digits, which JavaScript rounds beyond
 * 2^53. White space goes, and of two members with one name the last stays.
 */

/** Stands before the digits of a number: no stored text has this character (see `storable`). */
const numberMark = '\u0000';

/** Strings and numbers; the words true, false and null are left. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs;

/** The value of a JSON text, in which each number is a string with a mark. @throws SyntaxError */
export function parseExact(text: string): unknown {
  return JSON.parse(text.replace(tokens, (token) => (token.startsWith('"') ? token : `"\\u0000${token}"`)));
}

/** The text of such a value. */
export function exactText(value: unknown): string {
  return JSON.stringify(value).replace(/"\\u0000([^"]*)"/g, '$1');
}

export function isNumber(value: string): boolean {
  return value.startsWith(numberMark);
}

/** An id; in a record that was rejected, it may be a number. */
export function idOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.replace(numberMark, '') : undefined;
}
