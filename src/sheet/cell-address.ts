/** The letters of a column: 0 is A, 26 is AA. */
export function columnLetters(index: number): string {
  const rest = Math.floor(index / 26);
  return (rest > 0 ? columnLetters(rest - 1) : '') + String.fromCharCode(65 + (index % 26));
}

/** `B7` for column 1 in row 7. */
export function cellAddress(column: number, row: number): string {
  return `${columnLetters(column)}${row}`;
}

/** The column (from 0) and row (from 1) of `B7` or `$B$7`; undefined when the text is not an address. */
export function parseAddress(text: string): { column: number; row: number } | undefined {
  const parts = /^\$?([A-Z]{1,7})\$?([0-9]{1,9})$/i.exec(text);
  const [letters, digits] = [parts?.[1], parts?.[2]];
  if (letters === undefined || digits === undefined) return undefined;
  let column = 0;
  for (const letter of letters.toUpperCase()) column = column * 26 + letter.charCodeAt(0) - 64;
  return { column: column - 1, row: Number(digits) };
}

/** A rectangle of cells, corners included; columns from 0, rows from 1. */
export interface Range {
  readonly text: string;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** The rectangle of `B2:D2`; undefined when the text is not a range. */
export function parseRange(text: string): Range | undefined {
  const [from = '', to = from] = text.split(':');
  const [a, b] = [parseAddress(from), parseAddress(to)];
  return a && b && { text, left: a.column, top: a.row, right: b.column, bottom: b.row };
}
